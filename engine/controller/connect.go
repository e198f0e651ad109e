package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// connect returns a client for the Linode API and the cluster that it is for.
func connect(ctx context.Context, cfg Config) (*lkeapi.Client, lkeapi.Cluster, error) {
	if cfg.LinodeToken == "" {
		return nil, lkeapi.Cluster{},
			errors.New("no Linode API token; set LINODE_TOKEN to one with the scope " + lkeapi.ScopePools)
	}
	if cfg.ClusterID == 0 && cfg.ClusterName == "" {
		return nil, lkeapi.Cluster{},
			errors.New("no LKE cluster; set LKE_CLUSTER_ID to its number, or CLUSTER_NAME to its label")
	}
	lke, err := lkeapi.New(cfg.LinodeURL, cfg.LinodeToken, lkeapi.Options{Observe: observeLinode})
	if err != nil {
		return nil, lkeapi.Cluster{}, fmt.Errorf("set LINODE_URL: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cluster, err := findCluster(ctx, lke, cfg)
	if err != nil {
		return nil, lkeapi.Cluster{}, lkeapi.Explain(err, cfg.LinodeURL)
	}
	if !lke.MayUse(lkeapi.ScopePools) {
		return nil, lkeapi.Cluster{},
			fmt.Errorf("the Linode API token lacks the scope %s: it has %s; make one that has it in Cloud Manager (My "+
				"Profile, API Tokens: Kubernetes, Read/Write) and set LINODE_TOKEN to it",
				lkeapi.ScopePools, strings.Join(lke.Scopes(), " "))
	}
	return lke, cluster, nil
}

// findCluster finds the cluster by its number, else by its label.
func findCluster(ctx context.Context, lke *lkeapi.Client, cfg Config) (lkeapi.Cluster, error) {
	if cfg.ClusterID != 0 {
		cluster, err := lke.Cluster(ctx, cfg.ClusterID)
		switch {
		case lkeapi.ClassOf(err) == lkeapi.ClassNotFound:
			return cluster,
				fmt.Errorf("the account has no LKE cluster %d; correct LKE_CLUSTER_ID, or use a token of the account that has it",
					cfg.ClusterID)
		case err != nil:
			return cluster, err
		case cfg.ClusterName != "" && cfg.ClusterName != cluster.Label:
			return cluster, fmt.Errorf("LKE cluster %d is called %q, not %q; correct LKE_CLUSTER_ID or CLUSTER_NAME", cluster.ID,
				cluster.Label, cfg.ClusterName)
		}
		return cluster, nil
	}
	clusters, err := lke.Clusters(ctx)
	if err != nil {
		return lkeapi.Cluster{}, err
	}
	var found []lkeapi.Cluster
	var labels []string
	for _, c := range clusters {
		labels = append(labels, c.Label)
		if c.Label == cfg.ClusterName {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return lkeapi.Cluster{},
			fmt.Errorf("the account has no LKE cluster called %q; it has: %s; correct CLUSTER_NAME", cfg.ClusterName,
				orNone(labels))
	}
	return lkeapi.Cluster{},
		fmt.Errorf("the account has %d LKE clusters called %q; set LKE_CLUSTER_ID to the number of the one that is meant",
			len(found), cfg.ClusterName)
}

func orNone(labels []string) string {
	const most = 10
	if len(labels) == 0 {
		return "none"
	}
	if len(labels) > most {
		return strings.Join(labels[:most], ", ") + fmt.Sprintf(" and %d more", len(labels)-most)
	}
	return strings.Join(labels, ", ")
}

// readCatalog reads the catalogue from the API's public endpoints, and takes the
// built-in one where that fails: a node at yesterday's price is better than
// none.
func readCatalog(ctx context.Context, cfg Config) *catalog.Catalog {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	fresh, err := publicAPI{lkeapi.Root(cfg.LinodeURL)}.Catalog(ctx)
	if err == nil {
		return fresh
	}
	builtIn, builtInErr := catalog.Embedded()
	if builtInErr != nil {
		panic(fmt.Sprintf("the built-in catalogue is broken: %v", builtInErr)) // a test reads it
	}
	cfg.Log.Warn("the catalogue of plans could not be read; using the built-in one", "date", builtIn.Date(), "error", err)
	return builtIn
}

// publicAPI is the part of the Linode API that takes no token.
type publicAPI struct{ root string }

func (p publicAPI) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	return catalog.Fetch(ctx, http.DefaultClient, p.root)
}

func (p publicAPI) Availability(ctx context.Context, region string) ([]catalog.Availability, error) {
	return catalog.FetchAvailability(ctx, http.DefaultClient, p.root, region)
}
