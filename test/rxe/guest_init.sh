#!/bin/busybox sh
# shellcheck shell=dash
# The first program of a guest: its root is in memory; all programs are the host's, whose files it sees and cannot write.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done </modules.order
mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,ro,msize=512000 host /host || poweroff -f
mkdir -p /dev/shm /dev/pts
mount -t devpts devpts /dev/pts
for folder in dev proc sys; do mount -o bind "/$folder" "/host/$folder"; done
mount -t tmpfs shm /host/dev/shm
mount -t tmpfs run /host/run
mount -t tmpfs tmp /host/tmp
read -r line </proc/cmdline
for word in $line; do
  case $word in
    guest=*) guest=${word#guest=} ;;
    shell=*) shell=${word#shell=} ;;
  esac
done
exec chroot /host /bin/sh -c "
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
  hostname guest$guest
  ip link set lo up
  for i in 0 1; do
    ip link set eth\$i mtu 4400
    ip addr add 10.0.\$i.$guest/24 dev eth\$i
    ip link set eth\$i up
    rdma link add rxe\$i type rxe netdev eth\$i
  done
  ip addr add 10.9.0.$guest/24 dev eth2
  ip link set eth2 up
  ip addr add 10.0.2.15/24 dev eth3
  ip link set eth3 up
  echo guest $guest is up
  exec $shell serve 5514"
