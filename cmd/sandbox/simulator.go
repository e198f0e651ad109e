package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// simulated configures the simulator. It is passed to the simulator's process as a JSON file.
type simulated struct {
	sim.Config
	// RateLimit is in the format of sim.ParseRateLimit.
	RateLimit string
	// Catalog is a file with a snapshot of plans and prices; "" means the embedded one.
	Catalog string
}

// simulator creates the simulator. It is also used to check a configuration before anything is started with it.
func (c simulated) simulator() (_ *sim.Simulator, err error) {
	played := c.Config
	if played.RateLimit, err = sim.ParseRateLimit(c.RateLimit); err != nil {
		return nil, err
	}
	if c.Catalog != "" {
		file, err := os.Open(c.Catalog)
		if err != nil {
			return nil, fmt.Errorf("catalog: %w", err)
		}
		defer file.Close()
		if played.Catalog, err = catalog.Read(file); err != nil {
			return nil, fmt.Errorf("catalog: %w", err)
		}
	}
	return sim.New(played)
}

// simulate returns the hidden command with which the sandbox starts itself as the Linode
// simulator, a process like the other components.
func (a *app) simulate() *cobra.Command {
	var config, address, kubeconfig string
	cmd := &cobra.Command{
		Use:    stack.SimulateCommand,
		Short:  "Run the Linode simulator of a sandbox",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := os.ReadFile(config)
			if err != nil {
				return fmt.Errorf("read the simulator's configuration: %w", err)
			}
			var c simulated
			if err := json.Unmarshal(text, &c); err != nil {
				return fmt.Errorf("read the simulator's configuration: %s: %w", config, err)
			}
			return c.serve(cmd.Context(), address, kubeconfig, slog.New(slog.NewTextHandler(a.stderr, nil)))
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "what to play, as JSON")
	cmd.Flags().StringVar(&address, "address", "", "where to serve the API")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the API server that nodes join")
	return cmd
}

// serve serves the API and simulates the nodes against the sandbox's API server until the context ends.
func (c simulated) serve(ctx context.Context, address, kubeconfig string, log *slog.Logger) error {
	var err error
	if c.Kubeconfig, err = os.ReadFile(kubeconfig); err != nil {
		return err
	}
	simulator, err := c.simulator()
	if err != nil {
		return err
	}
	client, err := apiServer(ctx, kubeconfig)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	server := &http.Server{Handler: simulator, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	group.Go(func() error {
		if err := server.Serve(listener); ctx.Err() == nil {
			return err
		}
		return nil
	})
	group.Go(func() error { return simulator.RunNodes(ctx, client, nil, log) })
	return group.Wait()
}

// apiServer creates the client for nodes and checks that it works, before the port is opened, so that a client that
// gets an answer can rely on nodes.
func apiServer(ctx context.Context, kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "linode-simulator"
	// Each real node is a client with its own rate limit, so the limit for one client is disabled.
	config.QPS, config.Burst = -1, -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	// The sandbox has checked that the API server is ready, but on a busy machine it may not stay so.
	_, err = client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	return client, err
}
