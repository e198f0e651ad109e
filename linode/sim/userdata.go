package sim

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Where the files are that a machine joins by.
const (
	kubeadmFile = "/etc/lkeplan/join.yaml"
	patchFile   = "/etc/lkeplan/patches/kubeletconfiguration+merge.yaml"
	k3sFile     = "/etc/rancher/k3s/config.yaml"
)

// linodeID stands where the id of the Linode goes: a script on the machine asks the Metadata service for it.
const linodeID = "@LINODE_ID@"

// Join is what the user data of a machine say of the cluster and of its Node.
type Join struct {
	Server  string // the URL of the API server
	Token   JoinToken
	Pins    []string // "sha256:" and the hash of the authority's public key, any of which will do; kubeadm's
	Bundle  string   // the hash of the authority's certificates as PEM; k3s's
	Signed  bool     // what the cluster says of itself must be signed with the token; kubeadm's
	Unready bool     // a Node of the name must not be ready yet; kubeadm's

	Name       string
	ProviderID string
	External   bool // a cloud controller completes the Node
	Taints     []corev1.Taint
	Labels     map[string]string
	Settings   KubeletSettings
}

// JoinToken is a bootstrap token.
type JoinToken struct{ ID, Secret string }

func (t JoinToken) String() string { return t.ID + "." + t.Secret }

// ReadUserData reads user data as cloud-init does, and the files that they write as the programs do that join machines. It
// returns none where nothing in them joins a cluster.
func ReadUserData(userData []byte, linode int) (*Join, error) {
	files, err := cloudInit(userData)
	if err != nil {
		return nil, err
	}
	for path, text := range files {
		files[path] = strings.ReplaceAll(text, linodeID, strconv.Itoa(linode))
	}
	if text, ok := files[kubeadmFile]; ok {
		join, err := readKubeadm(text, files[patchFile])
		return join, inFile(kubeadmFile, err)
	}
	if text, ok := files[k3sFile]; ok {
		join, err := readK3s(text)
		return join, inFile(k3sFile, err)
	}
	return nil, nil
}

func inFile(path string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// cloudInit returns the files that cloud-init writes, by path. User data without the first line that says what they
// are, it leaves alone; and where nothing is run, nothing reads the files.
func cloudInit(userData []byte) (map[string]string, error) {
	var config struct {
		WriteFiles []struct{ Path, Content, Encoding string } `json:"write_files"`
		RunCmd     []any                                      `json:"runcmd"`
	}
	text := string(userData)
	if !strings.HasPrefix(text, "#cloud-config\n") {
		return nil, nil
	}
	if err := yaml.Unmarshal(userData, &config); err != nil {
		return nil, fmt.Errorf("user data: %w", err)
	}
	files := map[string]string{}
	for _, file := range config.WriteFiles {
		switch file.Encoding {
		case "":
			files[file.Path] = file.Content
		case "b64", "base64":
			content, err := base64.StdEncoding.DecodeString(file.Content)
			if err != nil {
				return nil, fmt.Errorf("user data: %s: %w", file.Path, err)
			}
			files[file.Path] = string(content)
		default:
			return nil, fmt.Errorf("user data: %s: encoding %q is not played", file.Path, file.Encoding)
		}
	}
	if len(config.RunCmd) == 0 {
		return nil, nil
	}
	return files, nil
}

// readKubeadm reads a JoinConfiguration, and the patch of the KubeletConfiguration; "" where there is none. What the
// cluster itself says of kubelets, in the ConfigMap kubelet-config, is not played.
func readKubeadm(text, patch string) (*Join, error) {
	var config struct {
		APIVersion, Kind string
		Discovery        struct {
			BootstrapToken struct {
				APIServerEndpoint, Token string
				CACertHashes             []string
			}
		}
		NodeRegistration struct {
			Name             string
			Taints           []corev1.Taint
			KubeletExtraArgs []struct{ Name, Value string }
		}
		Patches struct{ Directory string }
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return nil, err
	}
	if config.APIVersion != "kubeadm.k8s.io/v1beta4" || config.Kind != "JoinConfiguration" {
		return nil, fmt.Errorf("%s %s is no JoinConfiguration of kubeadm.k8s.io/v1beta4", config.APIVersion, config.Kind)
	}
	found, node := config.Discovery.BootstrapToken, config.NodeRegistration
	join := &Join{
		Server: "https://" + found.APIServerEndpoint, Pins: found.CACertHashes, Signed: true, Unready: true,
		Name: node.Name, Taints: node.Taints,
	}
	var err error
	if join.Token, err = parseToken(found.Token); err != nil {
		return nil, err
	}
	if patch != "" && config.Patches.Directory != "" {
		if err := yaml.Unmarshal([]byte(patch), &join.Settings); err != nil {
			return nil, fmt.Errorf("patch of the KubeletConfiguration: %w", err)
		}
	}
	for _, arg := range node.KubeletExtraArgs {
		if err := join.argument(arg.Name, arg.Value); err != nil {
			return nil, err
		}
	}
	return join, join.check()
}

// readK3s reads the configuration of a k3s agent.
func readK3s(text string) (*Join, error) {
	var config struct {
		Server, Token string
		Name          string   `json:"node-name"`
		Taints        []string `json:"node-taint"`
		Labels        []string `json:"node-label"`
		Arguments     []string `json:"kubelet-arg"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return nil, err
	}
	join := &Join{Server: config.Server, Name: config.Name, Settings: k3sSettings()}
	bundle, token, secure := strings.Cut(config.Token, "::")
	if !secure || !strings.HasPrefix(bundle, "K10") {
		return nil, fmt.Errorf("token: want K10, the hash of the authority, :: and a bootstrap token")
	}
	join.Bundle = strings.TrimPrefix(bundle, "K10")
	var err error
	if join.Token, err = parseToken(token); err != nil {
		return nil, err
	}
	arguments := append([]string{
		"register-with-taints=" + strings.Join(config.Taints, ","), "node-labels=" + strings.Join(config.Labels, ","),
	}, config.Arguments...)
	for _, text := range arguments {
		name, value, _ := strings.Cut(text, "=")
		if err := join.argument(name, value); err != nil {
			return nil, err
		}
	}
	return join, join.check()
}

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
