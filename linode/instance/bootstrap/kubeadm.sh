join=/etc/lkeplan/join.yaml
kubelet=/var/lib/kubelet

# joined: the kubelet has its certificate. There is nothing left for kubeadm to do, and a reset would take it away.
joined() {
  [ -s /etc/kubernetes/kubelet.conf ] && [ -s "$kubelet/pki/kubelet-client-current.pem" ]
}

# finish: the token goes once the certificate is on the disk, and from the join configuration last, for a later boot to
# know it by if the power is cut here.
finish() {
  rm -f /etc/kubernetes/bootstrap-kubelet.conf
  forget /var/lib/cloud /run/cloud-init
  sync
  rm -f "$join"
  say "this machine has joined"
}

# forward has the kernel forward IPv4 packets, now and from the next boot on: kubeadm refuses a machine that does not.
# A CNI plugin needs it as well. For IPv6 it is set for interfaces that come later: one that has its address from a router would
# lose it.
forward() {
  (
    umask 022
    mkdir -p /etc/sysctl.d && echo 'net.ipv4.ip_forward = 1' >/etc/sysctl.d/99-lkeplan.conf
  ) 2>/dev/null || say "/etc/sysctl.d/99-lkeplan.conf cannot be written: set net.ipv4.ip_forward in the image"
  (echo 1 >/proc/sys/net/ipv4/ip_forward) 2>/dev/null || say "net.ipv4.ip_forward cannot be set to 1"
  case $endpoint in '['*)
    (echo 1 >/proc/sys/net/ipv6/conf/default/forwarding) 2>/dev/null ||
      say "net.ipv6.conf.default.forwarding cannot be set to 1"
    ;;
  esac
}

healthy() {
  port=$(value healthzPort "$kubelet/config.yaml" 2>/dev/null) || :
  [ "$(ask GET 'Accept: */*' "http://127.0.0.1:${port:-10248}/healthz")" = ok ]
}

# runs: the kubelet is healthy, or gets healthy within a quarter of a minute.
runs() {
  for _ in 1 2 3; do
    ! healthy || return 0
    sleep 5
  done
  healthy
}

# undo removes what an earlier try has left. The kubelet is stopped first, since it may be about to get its certificate.
undo() {
  systemctl stop kubelet || :
  if joined; then systemctl start kubelet || :; else kubeadm reset --force || :; fi
}

# try joins. After the kubelet has its certificate, it waits for the kubelet alone.
try() {
  [ -z "$again" ] || joined || undo
  again=yes
  if joined; then
    runs
    return
  fi
  rm -f "$run/failed"
  {
    (
      umask 022
      exec kubeadm join --config "$join"
    ) || echo $? >"$run/failed"
  } 2>&1 | tee "$run/log"
  [ ! -e "$run/failed" ] || { joined && runs; }
}

# kubelet_error prints the last error of the kubelet that kubeadm has started, if it does not run.
kubelet_error() {
  since=$(date -r "$kubelet/config.yaml" +%s 2>/dev/null) || return 0
  ! healthy || return 0
  journal kubelet --since "@$since" | sed '/config\.yaml.*no such file/d' >"$run/journal" # from before there was one
  found=$(sed -n '/"command failed"/h;/^Error: /h;/^panic: /h;/^F[0-9]\{4\} /h;${x;p;}' "$run/journal")
  [ -n "$found" ] || systemctl is-active --quiet kubelet || found=$(sed -n '/^E[0-9]\{4\} /h;${x;p;}' "$run/journal")
  printf '%s\n' "$found" | sed -e 's/^[EF][0-9]\{4\} [^]]*\] //' -e 's/^"command failed" err="\(.*\)"$/\1/'
}

# why prints why an attempt failed.
why() {
  text=$(sed -n 's/^[[:space:]]*\(\[ERROR .*\)/\1/p' "$run/log")
  [ -n "$text" ] || text=$(sed -n '/^error[: ]/h;${x;p;}' "$run/log")
  [ -n "$text" ] || text="ended with status $(cat "$run/failed" 2>/dev/null)"
  error=$(kubelet_error) # kubeadm says of it only that it does not answer
  if [ -n "$error" ]; then text="kubelet: $error"; else text="kubeadm join: $text"; fi
  printf '%s\n' "$text"
}

if [ ! -s "$join" ]; then
  joined || die "$join is missing or empty, for example after a power cut"
  rm -f "$join" /etc/kubernetes/bootstrap-kubelet.conf
  exit 0
fi
know "$(value apiServerEndpoint "$join")" "$(value token "$join")"
command -v kubeadm >/dev/null || die "kubeadm is not in this image: use one with kubeadm, kubelet and a container runtime"
again=yes # an earlier boot may have come as far as kubeadm
if grep -q @LINODE_ID@ "$join"; then
  again=''
  identify
  if joined && ! grep -Eq "linode://$id([^0-9]|\$)" "$kubelet/kubeadm-flags.env"; then
    kubeadm reset --force || die "this image has the certificate of another machine, which kubeadm reset does not remove"
  fi
  fill "$join"
fi
if joined; then
  finish
  exit 0
fi
: >"$run/log"
doing='joined'
forward
end=$(($(now) + 720))
until try; do
  reason=$(why)
  explain "$reason"
  [ "$(now)" -lt "$end" ] || die "kubeadm join has failed for 12 minutes: $reason"
  sleep 10
done
finish
