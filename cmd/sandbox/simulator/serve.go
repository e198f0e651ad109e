package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Serve runs the simulator until the context ends. configFile is a Config as JSON;
// kubeconfig leads to the API server that its nodes join.
func Serve(ctx context.Context, configFile, address, kubeconfig string, log io.Writer) error {
	text, err := os.ReadFile(configFile)
	if err != nil {
		return fmt.Errorf("read the simulator's configuration: %w", err)
	}
	var c Config
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("read the simulator's configuration: %s: %w", configFile, err)
	}
	simulator, err := c.New()
	if err != nil {
		return err
	}
	client, err := connect(ctx, kubeconfig)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveHTTP(ctx, listener, simulator) })
	logger := slog.New(slog.NewTextHandler(log, nil))
	if !c.WithoutCluster {
		group.Go(func() error { return ignoreCancelled(ctx, simulator.RunNodes(ctx, client, logger)) })
	}
	group.Go(func() error { return ignoreCancelled(ctx, simulator.RunMachines(ctx, client, nil, logger)) })
	return group.Wait()
}

// connect makes the client of the nodes' side and sees that it works, before the
// port is opened: who gets an answer there can rely on nodes.
func connect(ctx context.Context, kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "linode-simulator"
	// Every node is a client of its own in life, so the limit for one is lifted.
	config.QPS, config.Burst = -1, -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	// Whether it is ready was asked before this was started; on a busy machine it is not always.
	_, err = client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	return client, err
}

func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func ignoreCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		return errors.New("the simulated nodes stopped by themselves")
	}
	return fmt.Errorf("play nodes: %w", err)
}
