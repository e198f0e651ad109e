package lkesim

import (
	"context"
	"errors"
	"log/slog"

	"k8s.io/client-go/kubernetes"
)

// RunNodes plays the kubelets that join the first cluster and its cloud controller manager against an API server, until
// ctx ends; then it returns nil. log may be nil.
func (s *Simulator) RunNodes(ctx context.Context, c kubernetes.Interface, log *slog.Logger) error {
	return errors.New("not yet")
}
