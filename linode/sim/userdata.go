package sim

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// The paths of the files with which a machine joins.
const (
	kubeadmFile = "/etc/lkeplan/join.yaml"
	patchFile   = "/etc/lkeplan/patches/kubeletconfiguration+merge.yaml"
	k3sFile     = "/etc/rancher/k3s/config.yaml"
	perBoot     = "/var/lib/cloud/scripts/per-boot/" // cloud-init runs the programs here at each boot
)

// linodeID is the placeholder for the id of the Linode: a script on the machine requests it from the Metadata
// service.
const linodeID = "@LINODE_ID@"

// Join is what the user data says about the cluster and its Node.
type Join struct {
	Server  string // the URL of the API server
	Token   JoinToken
	Pins    []string // kubeadm: "sha256:" and the hash of the authority's public key, one of which must match
	Bundle  string   // k3s: the hash of the authority's certificates as PEM
	Signed  bool     // kubeadm: cluster-info must be signed with the token
	Unready bool     // kubeadm: an existing Node with the name must not be ready

	Name       string
	ProviderID string
	External   bool // a cloud controller completes the Node
	Taints     []corev1.Taint
	Labels     map[string]string
	Settings   KubeletSettings

	Refused error // why the kubelet does not start with its flags and settings; nil if it does
}

// JoinToken is a bootstrap token.
type JoinToken struct{ ID, Secret string }

func (t JoinToken) String() string { return t.ID + "." + t.Secret }

// ReadUserData reads user data as cloud-init does, and the files in it as kubeadm and k3s do. It returns nil if
// they do not join a cluster.
func ReadUserData(userData []byte, linode int) (*Join, error) {
	files, err := cloudInit(userData)
	if err != nil {
		return nil, err
	}
	for path, text := range files {
		files[path] = strings.ReplaceAll(text, linodeID, strconv.Itoa(linode))
	}
	if _, ok := files[kubeadmFile]; ok {
		join, err := readKubeadm(files)
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

// cloudInit returns the files that cloud-init writes, by path. It ignores user data without the first line that
// marks its format. It returns none if the user data runs nothing, because then nothing reads the files.
func cloudInit(userData []byte) (map[string]string, error) {
	var config struct {
		WriteFiles []struct{ Path, Permissions, Content, Encoding string } `json:"write_files"`
		RunCmd     []any                                                   `json:"runcmd"`
	}
	text := string(userData)
	if !strings.HasPrefix(text, "#cloud-config\n") {
		return nil, nil
	}
	if err := yaml.Unmarshal(userData, &config); err != nil {
		return nil, fmt.Errorf("user data: %w", err)
	}
	files := map[string]string{}
	run := len(config.RunCmd) > 0
	for _, file := range config.WriteFiles {
		mode, err := strconv.ParseUint(file.Permissions, 8, 32)
		run = run || strings.HasPrefix(file.Path, perBoot) && err == nil && mode&0o100 != 0
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
	if !run {
		return nil, nil
	}
	return files, nil
}

// joinConfiguration is the simulated part of kubeadm's JoinConfiguration. kubeadm warns about unknown fields, and
// continues.
type joinConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Discovery  struct {
		BootstrapToken struct {
			APIServerEndpoint string   `json:"apiServerEndpoint"`
			Token             string   `json:"token"`
			CACertHashes      []string `json:"caCertHashes"`
		} `json:"bootstrapToken"`
	} `json:"discovery"`
	NodeRegistration struct {
		Name             string         `json:"name"`
		Taints           []corev1.Taint `json:"taints"`
		KubeletExtraArgs []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"kubeletExtraArgs"`
	} `json:"nodeRegistration"`
	Patches struct {
		Directory string `json:"directory"`
	} `json:"patches"`
}

// readKubeadm reads kubeadm's file, and the patch of the KubeletConfiguration, if there is one. The cluster's own
// settings for kubelets, in the ConfigMap kubelet-config, are not simulated.
func readKubeadm(files map[string]string) (*Join, error) {
	var config joinConfiguration
	if err := unmarshalYAML(files[kubeadmFile], &config); err != nil {
		return nil, err
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	found, node := config.Discovery.BootstrapToken, config.NodeRegistration
	join := &Join{
		Server: "https://" + found.APIServerEndpoint, Pins: found.CACertHashes, Signed: true, Unready: true, Name: node.Name,
	}
	join.Token, _ = parseToken(found.Token) // it was validated
	var taints []string
	for _, taint := range node.Taints {
		taints = append(taints, taint.ToString())
	}
	arguments := []argument{{"register-with-taints", strings.Join(taints, ",")}}
	for _, arg := range node.KubeletExtraArgs {
		arguments = append(arguments, argument{arg.Name, arg.Value})
	}
	join.Refused = join.starts(arguments, func() error {
		if config.Patches.Directory == "" {
			return nil
		}
		if !strings.HasPrefix(patchFile, config.Patches.Directory+"/") || files[patchFile] == "" {
			return fmt.Errorf("could not apply patches to the KubeletConfiguration: could not list patch files for path %q",
				config.Patches.Directory)
		}
		if err := unmarshalYAML(files[patchFile], &join.Settings); err != nil {
			return fmt.Errorf("failed to load kubelet config file: %w", err)
		}
		return nil
	})
	return join, nil
}

// check returns the errors that kubeadm finds before it sends any request.
func (c joinConfiguration) check() error {
	found := c.Discovery.BootstrapToken
	_, tokenErr := parseToken(found.Token)
	_, _, endpointErr := net.SplitHostPort(found.APIServerEndpoint)
	switch {
	case c.Kind != "JoinConfiguration":
		return fmt.Errorf("no JoinConfiguration found in the supplied config")
	case c.APIVersion != "kubeadm.k8s.io/v1beta4": // kubeadm also reads v1beta3, which is not simulated
		return fmt.Errorf("your configuration file uses an old API spec: %q (kind: %q)", c.APIVersion, c.Kind)
	case len(found.CACertHashes) == 0:
		return fmt.Errorf("discovery.bootstrapToken.caCertHashes: using token-based discovery without caCertHashes can be " +
			"unsafe")
	case tokenErr != nil:
		return fmt.Errorf("discovery.bootstrapToken.token: %w", tokenErr)
	case endpointErr != nil:
		return fmt.Errorf("discovery.bootstrapToken.apiServerEndpoint: %w", endpointErr)
	}
	for _, arg := range c.NodeRegistration.KubeletExtraArgs {
		if arg.Name == "" {
			return fmt.Errorf("nodeRegistration.kubeletExtraArgs: argument has no name")
		}
	}
	return checkName(c.NodeRegistration.Name)
}

func checkName(name string) error {
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Errorf("name of the Node %q: %s", name, strings.Join(wrong, "; "))
	}
	return nil
}

// unmarshalYAML reads YAML as Kubernetes programs do, for which names are case-sensitive.
func unmarshalYAML(text string, into any) error {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	return json.UnmarshalCaseSensitivePreserveInts(raw, into)
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
	if server, err := url.Parse(join.Server); err != nil || server.Scheme != "https" || server.Port() == "" {
		return nil, fmt.Errorf("API server %q: want a host and a port", join.Server)
	}
	arguments := []argument{
		{"register-with-taints", strings.Join(config.Taints, ",")}, {"node-labels", strings.Join(config.Labels, ",")},
	}
	for _, text := range config.Arguments {
		name, value, _ := strings.Cut(text, "=")
		arguments = append(arguments, argument{name, value})
	}
	join.Refused = join.starts(arguments, func() error { return nil })
	return join, checkName(join.Name)
}

var token = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)

// parseToken reads a token. Its error never contains the secret.
func parseToken(text string) (JoinToken, error) {
	parts := token.FindStringSubmatch(text)
	if parts == nil {
		return JoinToken{}, fmt.Errorf("the bootstrap token is invalid: want the form abcdef.0123456789abcdef")
	}
	return JoinToken{ID: parts[1], Secret: parts[2]}, nil
}
