package stack

import (
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// masters is the group of administrators.
const masters = "system:masters"

// user is an account that the API server recognizes by a token.
type user struct {
	name, group, token string
}

// users are the administrator and the components with an account, by their names.
type users map[string]user

// newUsers creates the users with random tokens.
func newUsers() users {
	all := users{admin: {name: "sandbox-admin", group: masters}}
	for _, c := range components() {
		if c.account.name != "" {
			all[c.name] = c.account
		}
	}
	for key, u := range all {
		u.token = NewToken()
		all[key] = u
	}
	return all
}

// NewToken returns a random token. Each sandbox has its own, so that a client of another sandbox gets an error and
// changes nothing.
func NewToken() string { return strings.ToLower(rand.Text()) }

// tokenFile returns the contents of the file for --token-auth-file.
func (all users) tokenFile() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		u := all[key]
		fmt.Fprintf(&b, "%s,%s,%s", u.token, u.name, u.name)
		if u.group != "" {
			fmt.Fprintf(&b, ",%q", u.group)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// writeKubeconfigs writes a kubeconfig for each user. It is called once the API server's port is known.
func writeKubeconfigs(l layout, all users, cluster string, port int) error {
	ca, err := os.ReadFile(l.caCert())
	if err != nil {
		return err
	}
	for key, u := range all {
		path := l.configOf(key)
		if key == admin {
			path = l.kubeconfig()
		}
		config := kubeconfig(cluster, fmt.Sprintf("https://%s:%d", loopback, port), ca, u)
		if err := clientcmd.WriteToFile(*config, path); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", u.name, err)
		}
	}
	return nil
}

func kubeconfig(cluster, server string, ca []byte, u user) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[u.name] = &clientcmdapi.AuthInfo{Token: u.token}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: u.name}
	config.CurrentContext = cluster
	return config
}
