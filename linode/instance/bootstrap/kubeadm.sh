join=/etc/lkeplan/join.yaml
[ -f "$join" ] || exit 0 # it has joined
command -v kubeadm >/dev/null || die "kubeadm is not in this image: take one with kubeadm, kubelet and a runtime"
fill "$join"
n=0
until kubeadm join --config "$join"; do
  n=$((n + 1))
  [ "$n" -lt 5 ] || die "kubeadm join has failed $n times, see /var/log/cloud-init-output.log"
  kubeadm reset --force || :
  sleep 10
done
rm -f "$join" # the token is in it
say "this machine has joined"
