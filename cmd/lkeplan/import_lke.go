package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

// moveIn writes the LKE pools of a cluster as pools, and says how their pods move over.
func (i *importation) moveIn(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--lke and --terraform take all LKE pools of a cluster, and no names of objects: %s", args[0])
	}
	clusters, err := i.lkeClusters(ctx)
	if err != nil {
		return err
	}
	from, err := migrate.ChooseCluster(clusters, i.cluster.Name)
	if err != nil {
		return err
	}
	plans, err := catalog.Embedded()
	if err != nil {
		return err
	}
	moved := migrate.ImportLKE(from, plans, i.taken(ctx))
	steps := func() {
		for _, line := range moved.Steps(from) {
			fmt.Fprintln(i.env.Stderr, diag.Visible(line))
		}
	}
	if len(moved.Pools) == 0 {
		steps()
		return fmt.Errorf("cluster %s has no LKE pool that could move in: it has %d, and a provider of Karpenter keeps "+
			"%d of them", from.Label, len(from.Pools), len(moved.Passed))
	}
	cluster := config.Cluster{
		Name: from.Label, Region: cmp.Or(i.cluster.Region, from.Region), Tier: cmp.Or(i.cluster.Tier, from.Tier),
	}
	present, err := i.present(ctx)
	if err != nil {
		return err
	}
	written, err := migrate.Write(ctx, moved.Objects, cluster, "")
	if err != nil {
		return err
	}
	if err := unclaimed(present, written.Compiled); err != nil {
		return fmt.Errorf("--out-dir %s: %w", i.outDir, err)
	}
	switch present.Cluster.Name {
	case "":
	case cluster.Name: // the directory has such a block already
		written.Files = written.Files[1:]
	default:
		return fmt.Errorf("--out-dir %s is for cluster %s; the LKE pools are of %s", i.outDir, present.Cluster.Name,
			cluster.Name)
	}
	if err := i.write(written.Files); err != nil {
		return err
	}
	if err := flags.Report(i.env, written.Compiled, written.Diags); err != nil {
		return err
	}
	steps()
	return nil
}

// lkeClusters are the clusters with their LKE pools, as Terraform or Linode knows them.
// Linode is asked for the pools of the one that is meant.
func (i *importation) lkeClusters(ctx context.Context) ([]migrate.LKECluster, error) {
	if i.terraform != "" {
		data, err := os.ReadFile(i.terraform)
		if err != nil {
			return nil, fmt.Errorf("--terraform %s: %w", i.terraform, files.Cause(err))
		}
		clusters, err := migrate.FromTerraform(data)
		if err != nil {
			return nil, fmt.Errorf("--terraform %s: %w", i.terraform, err)
		}
		return clusters, nil
	}
	linodeAPI, err := flags.Linode(i.env, "read Kubernetes (lke:read_only)")
	if err != nil {
		return nil, err
	}
	listed, err := linodeAPI.Clusters(ctx)
	if err != nil {
		return nil, api.Explain(err, i.env.Getenv("LINODE_URL"))
	}
	var clusters []migrate.LKECluster
	for _, c := range listed {
		clusters = append(clusters, migrate.FromLKE(c, nil))
	}
	chosen, err := migrate.ChooseCluster(clusters, i.cluster.Name)
	if err != nil {
		return nil, err
	}
	pools, err := linodeAPI.Pools(ctx, chosen.ID)
	if err != nil {
		return nil, api.Explain(err, i.env.Getenv("LINODE_URL"))
	}
	at := slices.IndexFunc(listed, func(c api.Cluster) bool { return c.ID == chosen.ID })
	return []migrate.LKECluster{migrate.FromLKE(listed[at], pools)}, nil
}

// taken asks the cluster of the kubeconfig for what has a name there already. Where it does
// not answer, nothing has; what Terraform shows is read without a cluster.
func (i *importation) taken(ctx context.Context) migrate.NameTaken {
	if !i.lke {
		return migrate.Others(nil)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	live, err := i.named(ctx)
	if err != nil {
		fmt.Fprintf(i.env.Stderr, "lkeplan: whether the cluster has objects of these names already is not known: %s\n",
			diag.OneLine(err.Error()))
	}
	return migrate.Others(live)
}

// named are the objects of the cluster that may have a name which LKE pools would get.
func (i *importation) named(ctx context.Context) (live []map[string]any, err error) {
	cluster, err := kube.Connect(i.access)
	if err != nil {
		return nil, err
	}
	for _, table := range []schemas.Block{schemas.NodeClass, schemas.Pool} {
		found, err := cluster.List(ctx, table.Object.APIVersion, table.Object.Kind)
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, err
		}
		live = append(live, found...)
	}
	return live, nil
}
