package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// checkTimeout is the time limit of one check of a component.
const checkTimeout = 2 * time.Second

// componentChecker checks whether the components of a sandbox work.
type componentChecker struct {
	dir     layout
	port    func(component, name string) int
	cluster Cluster
	// kube trusts the sandbox's certificate authority and is the administrator; kube and client are nil until the
	// API server's port is known.
	kube   *http.Client
	client kubernetes.Interface
}

// connect creates the clients from the administrator's kubeconfig.
func (c *componentChecker) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.dir.kubeconfig())
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = -1, -1
	if c.kube, err = rest.HTTPClientFor(config); err != nil {
		return err
	}
	c.client, err = kubernetes.NewForConfigAndClient(config, c.kube)
	return err
}

// check returns nil if the component works.
func (c *componentChecker) check(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	url := func(scheme, port, path string) string {
		return scheme + "://" + address(c.port(name, port)) + path
	}
	switch name {
	case etcd:
		return get(ctx, http.DefaultClient, url("http", "health", "/health"), "")
	case apiServer:
		return get(ctx, c.kube, url("https", "api", "/readyz"), "")
	case scheduler:
		return get(ctx, c.kube, url("https", "health", "/readyz"), "")
	case controllerManager:
		return get(ctx, c.kube, url("https", "health", "/healthz"), "")
	case kwok:
		return get(ctx, http.DefaultClient, url("http", "health", "/readyz"), "")
	case sourceController:
		// Its artifacts have a separate server, which starts later.
		return errors.Join(
			get(ctx, http.DefaultClient, url("http", "health", "/readyz"), ""),
			get(ctx, http.DefaultClient, url("http", "artifacts", "/"), ""),
		)
	case linode:
		path := fmt.Sprintf("/v4/lke/clusters/%d", c.cluster.ID)
		if c.cluster.Mode == ModeInstance {
			path = "/v4/linode/instances"
		}
		return get(ctx, http.DefaultClient, url("http", "api", path), c.cluster.LinodeToken)
	}
	return fmt.Errorf("unknown component %q", name)
}

// accounts returns nil once kube-controller-manager has created what pods wait for: the default service account,
// and the ConfigMap with the certificate authority.
func (c *componentChecker) accounts(ctx context.Context) error {
	core := c.client.CoreV1()
	if _, err := core.ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	_, err := core.ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	return err
}

// get fetches the URL and expects status 200.
func get(ctx context.Context, client *http.Client, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s says %s: %s", url, response.Status, firstLines(string(body), 3))
	}
	return nil
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "; ")
}
