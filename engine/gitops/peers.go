package gitops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/rings"
	"github.com/lkeplan/lkeplan/linode/loop"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// peerReader reads the NodePlans of other clusters with the kubeconfigs of a Secret. Other users
// write these kubeconfigs, so it uses only an address, certificates and a token of them.
type peerReader struct {
	Reader  client.Reader // of Secrets, without a cache
	Timeout time.Duration // of one cluster; 0: peerTimeout
	All     time.Duration // of all clusters; 0: peersTimeout
}

const (
	peerTimeout    = 10 * time.Second
	peersTimeout   = time.Minute
	peersAtOnce    = 32
	maxKubeconfig  = 64 << 10
	maxPeerMessage = 4 << 20 // of a NodePlan as JSON; etcd stores at most 1.5 MiB
)

// Read implements Peers.
func (r peerReader) Read(
	ctx context.Context, np *lkeplanv1alpha1.NodePlan, clusters []string,
) map[string]rings.Peer {
	peers := make(map[string]rings.Peer, len(clusters))
	kubeconfigs, err := r.kubeconfigs(ctx, np)
	if err != nil {
		for _, cluster := range clusters {
			peers[cluster] = rings.Peer{Unknown: err.Error()}
		}
		return peers
	}
	// Each reconciliation switches the settings of the NodePlan, so hundreds of clusters that do not answer must not delay
	// the next one. Those that were not read in time are unknown, and the revision waits.
	limit := cmp.Or(r.All, peersTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("all clusters together were not read within %s", limit))
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, peersAtOnce)
	for _, cluster := range clusters {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			var peer rings.Peer
			err := loop.Try(slog.Default(), func() (err error) {
				kubeconfig, ok := kubeconfigs[cluster]
				if !ok {
					return fmt.Errorf("its kubeconfig is missing: add the key %s to Secret %s/%s", cluster, np.Namespace,
						np.Spec.Rings.SecretRef.Name)
				}
				if ctx.Err() != nil {
					return fmt.Errorf("it was not read: %w", context.Cause(ctx))
				}
				peer.NodePlan, err = r.read(ctx, kubeconfig, np)
				return err
			})
			if err != nil {
				peer = rings.Peer{Unknown: err.Error()}
			}
			mu.Lock()
			defer mu.Unlock()
			peers[cluster] = peer
		})
	}
	all.Wait()
	return peers
}

// kubeconfigs reads the Secret of a NodePlan.
func (r peerReader) kubeconfigs(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (map[string][]byte, error) {
	if np.Spec.Rings == nil {
		return nil, errors.New("the NodePlan names no Secret with its kubeconfig; set spec.rings.secretRef")
	}
	at := client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.Rings.SecretRef.Name}
	var secret corev1.Secret
	if err := r.Reader.Get(ctx, at, &secret); err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", at, err)
	}
	return secret.Data, nil
}

// read reads the NodePlan with the name of np in another cluster.
func (r peerReader) read(
	ctx context.Context, kubeconfig []byte, np *lkeplanv1alpha1.NodePlan,
) (*lkeplanv1alpha1.NodePlan, error) {
	cfg, err := peerConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("its kubeconfig is refused: %w", err)
	}
	secure, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, errors.New("its kubeconfig is refused: it has an invalid certificate or key")
	}
	to := http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, DisableKeepAlives: true,
			MaxResponseHeaderBytes: maxKubeconfig, ForceAttemptHTTP2: true,
		},
		// The API server sends none, and another server must not get the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	limit := peerTimeout
	if r.Timeout > 0 {
		limit = r.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	path := "/apis/" + lkeplanv1alpha1.GroupVersion.String() + "/namespaces/" + url.PathEscape(np.Namespace) +
		"/nodeplans/" + url.PathEscape(np.Name)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+path, nil)
	if err != nil {
		return nil, fmt.Errorf("its kubeconfig is refused: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if cfg.BearerToken != "" {
		req.Header.Set("Authorization", "Bearer "+cfg.BearerToken)
	}
	answer, err := to.Do(req)
	if err != nil {
		return nil, fmt.Errorf("it is not reachable: %w", err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("it has no NodePlan %s/%s", np.Namespace, np.Name)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("the account in its kubeconfig may not get NodePlan %s/%s: HTTP status %d",
			np.Namespace, np.Name, answer.StatusCode)
	default:
		return nil, fmt.Errorf("its API server answers with the HTTP status %d", answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPeerMessage+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read its NodePlan: %w", err)
	case len(body) > maxPeerMessage:
		return nil, fmt.Errorf("read its NodePlan: the answer has more than %d MiB", maxPeerMessage>>20)
	}
	found := &lkeplanv1alpha1.NodePlan{}
	if err := json.Unmarshal(body, found); err != nil {
		return nil, fmt.Errorf("read its NodePlan: %w", err)
	}
	if found.Namespace != np.Namespace || found.Name != np.Name || found.Kind != "NodePlan" {
		return nil, errors.New("its API server answers with another object than the NodePlan")
	}
	return found, nil
}

// peerConfig reads a kubeconfig. It returns an error if that needs a program, a file or a proxy, or
// does not verify the server, as Flux does for spec.kubeConfig.
func peerConfig(kubeconfig []byte) (*rest.Config, error) {
	if len(kubeconfig) > maxKubeconfig {
		return nil, fmt.Errorf("it has more than %d KiB", maxKubeconfig>>10)
	}
	read, err := clientcmd.Load(kubeconfig)
	if err != nil { // the error may quote a token
		return nil, errors.New("it is not a kubeconfig")
	}
	context := read.Contexts[read.CurrentContext]
	if context == nil {
		return nil, errors.New("its current-context does not exist")
	}
	cluster, user := read.Clusters[context.Cluster], read.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("the cluster or the user of its current-context does not exist")
	}
	server, err := url.Parse(cluster.Server)
	switch {
	case err != nil || server.Scheme != "https" || server.Host == "" || server.User != nil:
		return nil, errors.New("server must be an https URL")
	case server.RawQuery != "" || server.Fragment != "":
		return nil, errors.New("server must be a URL without a query")
	case cluster.InsecureSkipTLSVerify:
		return nil, errors.New("insecure-skip-tls-verify is not allowed")
	case cluster.CertificateAuthority != "":
		return nil, errors.New("certificate-authority is a file; write certificate-authority-data")
	case cluster.ProxyURL != "":
		return nil, errors.New("proxy-url is not allowed")
	case user.Exec != nil:
		return nil, errors.New("exec runs a program, which is not allowed; use a token")
	case user.AuthProvider != nil:
		return nil, errors.New("auth-provider is not allowed; use a token")
	case user.TokenFile != "":
		return nil, errors.New("tokenFile is a file; write token")
	case user.ClientCertificate != "" || user.ClientKey != "":
		return nil, errors.New("client-certificate and client-key are files; write client-certificate-data and " +
			"client-key-data")
	case user.Username != "" || user.Password != "":
		return nil, errors.New("username and password are not allowed; use a token")
	case user.Impersonate != "" || user.ImpersonateUID != "" ||
		len(user.ImpersonateGroups)+len(user.ImpersonateUserExtra) > 0:
		return nil, errors.New("impersonation is not allowed")
	case user.Token == "" && len(user.ClientCertificateData) == 0:
		return nil, errors.New("it has neither a token nor a client certificate")
	}
	return &rest.Config{
		Host: server.Scheme + "://" + server.Host + server.EscapedPath(), BearerToken: user.Token,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName, CAData: cluster.CertificateAuthorityData,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}, nil
}
