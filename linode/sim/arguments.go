package sim

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	token = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)
	name  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
)

// parseToken never names the secret in its error.
func parseToken(text string) (JoinToken, error) {
	parts := token.FindStringSubmatch(text)
	if parts == nil {
		return JoinToken{}, fmt.Errorf("token: want the form of a bootstrap token, abcdef.0123456789abcdef")
	}
	return JoinToken{ID: parts[1], Secret: parts[2]}, nil
}

// check refuses what the programs refuse before they call anybody.
func (j *Join) check() error {
	server, err := url.Parse(j.Server)
	switch {
	case err != nil || server.Scheme != "https" || server.Port() == "":
		return fmt.Errorf("API server %q: want a host and a port", j.Server)
	case j.Pins == nil && j.Bundle == "":
		return fmt.Errorf("caCertHashes: want one, or a machine trusts any authority")
	case !name.MatchString(j.Name):
		return fmt.Errorf("name of the Node %q: want lower case letters, digits, dots and hyphens", j.Name)
	}
	return nil
}

// argument takes one argument of the kubelet; of those that change nothing of the Node, no notice is taken. That labels
// of kubernetes.io are refused by a kubelet before it calls the API server is not played: here they are the API
// server's to refuse.
func (j *Join) argument(name, value string) (err error) {
	s := &j.Settings
	switch name {
	case "cloud-provider":
		j.External = value == "external"
	case "provider-id":
		j.ProviderID = value
	case "node-labels":
		j.Labels, err = pairs(value, "=")
	case "register-with-taints":
		j.Taints, err = parseTaints(value)
	case "max-pods":
		s.MaxPods, err = strconv.ParseInt(value, 10, 64)
	case "pods-per-core":
		s.PodsPerCore, err = strconv.ParseInt(value, 10, 64)
	case "kube-reserved":
		s.KubeReserved, err = pairs(value, "=")
	case "system-reserved":
		s.SystemReserved, err = pairs(value, "=")
	case "eviction-hard":
		s.EvictionHard, err = pairs(value, "<")
	}
	if err != nil {
		return fmt.Errorf("argument %s: %w", name, err)
	}
	return nil
}

// pairs reads "a=1,b=2".
func pairs(text, between string) (map[string]string, error) {
	all := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, between)
		if part == "" {
			continue
		}
		if !ok || key == "" {
			return nil, fmt.Errorf("%q: want KEY%sVALUE", part, between)
		}
		all[key] = value
	}
	return all, nil
}

// parseTaints reads "key=value:Effect,other:Effect".
func parseTaints(text string) (taints []corev1.Taint, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		rest, effect, ok := strings.Cut(part, ":")
		key, value, _ := strings.Cut(rest, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("taint %q: want KEY=VALUE:EFFECT", part)
		}
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints, nil
}
