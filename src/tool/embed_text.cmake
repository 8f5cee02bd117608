# cmake -DINPUT=file -DOUTPUT=file.cpp -DNAME=variable -P embed_text.cmake: a text file as a string in a program.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"tool/build_facts.h\"\n\nnamespace hawser {\nconst char* const ${NAME} = R\"text(${text})text\";\n}\n")
