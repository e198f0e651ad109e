config=/etc/rancher/k3s/config.yaml
certificate=/var/lib/rancher/k3s/agent/client-kubelet.crt

# why prints the last error of k3s-agent.
why() {
  journal k3s-agent | sed -n '/level=error/h;/level=fatal/h;/server is not ready/h;/"command failed"/h;/^Error: /h;/^panic: /h;/^[EF][0-9]\{4\} /h;${x;p;}' |
    sed -e 's/^time="[^"]*" //' -e 's/^[EF][0-9]\{4\} [^]]*\] //'
}

[ -s "$config" ] || die "$config is missing or empty, for example after a power cut"
server=$(value server "$config")
token=$(value token "$config")
know "${server#https://}" "${token##*::}"
fresh=''
! grep -q @LINODE_ID@ "$config" || fresh=yes
[ -n "$fresh$secret" ] || exit 0 # it has joined at an earlier boot
if [ -n "$fresh" ] || [ ! -s "$certificate" ]; then
  command -v k3s >/dev/null || die "k3s is not in this image: install it with INSTALL_K3S_SKIP_START and _ENABLE=true"
  systemctl cat k3s-agent >/dev/null 2>&1 || die "systemd has no unit k3s-agent: install k3s with INSTALL_K3S_EXEC=agent"
  if [ -n "$fresh" ]; then
    identify
    if [ -e "$certificate" ]; then # of the machine that the image was made of
      systemctl stop k3s-agent || :
      rm -f "$certificate" "${certificate%.crt}.key" /etc/rancher/node/password
    fi
    fill "$config"
  fi
  doing='enabled the unit k3s-agent'
  systemctl enable k3s-agent
  systemctl restart --no-block k3s-agent
  start=$(now) minutes=0
  until [ -s "$certificate" ] && [ "$(ask GET 'Accept: */*' http://127.0.0.1:10248/healthz)" = ok ]; do
    sleep 5
    past=$((($(now) - start) / 60))
    state="k3s-agent has no certificate"
    if [ -s "$certificate" ]; then
      state="the kubelet of k3s-agent is not healthy"
      [ "$past" -lt 12 ] || break # it may be asked elsewhere; the token is of no use any more
    fi
    [ "$past" -lt 30 ] || die "$state: $(why)"
    [ "$past" -eq "$minutes" ] || explain "$state: $(why)"
    minutes=$past
  done
fi
# It starts again by its certificate. What is left of the token names the CA, and k3s wants its form. It is overwritten
# last, for a later boot to know it by if the power is cut here.
forget /var/lib/cloud /run/cloud-init
sync
forget /etc/rancher
say "this machine has joined"
