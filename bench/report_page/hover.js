// Under the pointer: the values of all curves at the nearest x.
const tip = document.getElementById("tip");
for (const chart of document.querySelectorAll("svg.chart")) {
  const marks = [...chart.querySelectorAll("[data-x]")];
  if (marks.length === 0) continue;
  for (const title of chart.querySelectorAll("[data-x] > title")) title.remove();
  let places = null;
  chart.addEventListener("pointermove", (event) => {
    places = marks.map((mark) => { const box = mark.getBoundingClientRect(); return box.left + box.width / 2; });
    let nearest = 0;
    places.forEach((place, i) => { if (Math.abs(place - event.clientX) < Math.abs(places[nearest] - event.clientX)) nearest = i; });
    const x = marks[nearest].dataset.x;
    tip.replaceChildren();
    const head = document.createElement("b");
    head.textContent = x;
    tip.append(head);
    for (const mark of marks) {
      const same = mark.dataset.x === x;
      mark.classList.toggle("near", same);
      if (!same) continue;
      const row = document.createElement("div");
      row.className = mark.parentNode.getAttribute("class");
      row.textContent = mark.parentNode.dataset.label + ": " + mark.dataset.value;
      tip.append(row);
    }
    tip.hidden = false;
    tip.style.left = Math.min(event.clientX + 16, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
  });
  chart.addEventListener("pointerleave", () => {
    tip.hidden = true;
    for (const mark of marks) mark.classList.remove("near");
  });
}
