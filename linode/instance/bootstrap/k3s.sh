config=/etc/rancher/k3s/config.yaml
command -v k3s >/dev/null || die "k3s is not in this image: install it with INSTALL_K3S_SKIP_START and _ENABLE=true"
systemctl cat k3s-agent >/dev/null 2>&1 || die "systemd has no unit k3s-agent: install k3s with INSTALL_K3S_EXEC=agent"
fill "$config"
systemctl enable k3s-agent
systemctl restart --no-block k3s-agent
n=0
until [ -s /var/lib/rancher/k3s/agent/client-kubelet.crt ]; do
  n=$((n + 1))
  [ "$n" -lt 360 ] || die "k3s-agent gets no certificate, see journalctl -u k3s-agent"
  sleep 5
done
# It starts again by its certificate. What is left of the token names the CA, and k3s wants its form.
sed 's/::[a-z0-9]*\.[a-z0-9]*/::000000.0000000000000000/' "$config" >"$config.new"
mv "$config.new" "$config"
say "this machine has joined"
