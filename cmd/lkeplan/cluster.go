package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lkeplan/lkeplan/kube"
)

// kubeconfigFlag adds the flag that says which cluster a command talks to.
func kubeconfigFlag(cmd *cobra.Command, env *env, kubeconfig *string) {
	cmd.Flags().StringVar(kubeconfig, "kubeconfig", env.Getenv("KUBECONFIG"),
		"kubeconfig `FILE` of the cluster ($KUBECONFIG, else ~/.kube/config)")
}

// connect returns the cluster of a kubeconfig, which may be several files as
// in $KUBECONFIG; of the usual places where it is empty.
func connect(kubeconfig string) (*kube.Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if kubeconfig != "" {
		rules.Precedence = filepath.SplitList(kubeconfig)
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		places := strings.Join(rules.Precedence, ", ")
		return nil, fmt.Errorf("no cluster: there is no kubeconfig in %s; set KUBECONFIG", places)
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return kube.NewCluster(cfg)
}
