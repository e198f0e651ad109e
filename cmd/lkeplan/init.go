package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

func newInit(env *flags.Env) *cobra.Command {
	var cluster, region string
	tier := flags.Choice{Value: "standard", Of: []string{"standard", "enterprise"}}
	mode := flags.Choice{Value: schemas.ModeLKE, Of: []string{schemas.ModeLKE, schemas.ModeInstance}}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first configuration",
		Long: `Write a configuration to start from: a cluster, a node class and a pool, with
comments. Nothing is asked and nothing overwritten. DIR is made where it is
missing; the working directory is taken where none is given.`,
		Example: `  lkeplan init clusters/dev
  lkeplan init --cluster ams --region nl-ams --tier enterprise clusters/ams
  lkeplan init --mode instance clusters/self-run`,
		Args: flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if cluster == "" {
				cluster = baseName(dir)
			}
			begin := lkeStart(tier.Value)
			if mode.Value == schemas.ModeInstance {
				begin = instanceStart()
			}
			return initialize(cmd.Context(), env, dir, begin.file(cluster, region))
		},
	}
	cmd.Flags().StringVar(&cluster, "cluster", "",
		"`NAME` of the cluster, in LKE or as CLUSTER_NAME says (default: that of the directory)")
	cmd.Flags().StringVar(&region, "region", "us-ord", "Linode `REGION` of the cluster")
	tier.Flag(cmd, "tier", "", "the `TIER` of LKE")
	mode.Flag(cmd, "mode", "", "what makes nodes, the `MODE` of the controller")
	_ = cmd.RegisterFlagCompletionFunc("region", flags.Regions) // the only error is that there is no such flag
	flags.Effects{"tier": {
		When: func([]string) bool { return mode.Value == schemas.ModeLKE },
		Else: "is for clusters of LKE; leave it out with --mode instance",
	}}.RejectUnused(cmd)
	return cmd
}

// baseName is the name of a directory, also where it is written as a dot.
func baseName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// initialize writes the configuration, once it has been found to be valid.
func initialize(ctx context.Context, env *flags.Env, dir string, src []byte) error {
	present, err := configured(dir)
	if err != nil {
		return err
	}
	if present != "" {
		return fmt.Errorf("%s is there already; init overwrites nothing", filepath.Join(dir, present))
	}
	// What is wrong with the flags is said before anything is written.
	compiled, diags, err := compile.Files(ctx, []config.File{{Name: "main.lke.hcl", Data: src}})
	if err != nil {
		return err
	}
	if err := flags.Report(env, compiled, diags); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, files.Cause(err))
	}
	name := filepath.Join(dir, "main.lke.hcl")
	if err := files.Create(name, src); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s written. Next: lkeplan validate %s\n", name, dir)
	return nil
}

// configured returns a file of the directory that configuration is read from.
func configured(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", dir, files.Cause(err))
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".lke.hcl") || strings.HasSuffix(entry.Name(), ".lke.json") {
			return entry.Name(), nil
		}
	}
	return "", nil
}

// starterFile is what a start fills in.
//
//go:embed starter.lke.hcl.tmpl
var starterFile string

// start is what a first configuration says of who makes its machines.
type start struct{ where, how, class string }

// lkeStart is that of a cluster of LKE.
func lkeStart(tier string) start {
	const class = `# How machines are set up. Without arguments everything is as LKE does it.
node_class "default" {}`
	if catalog.Tier(tier) == catalog.Enterprise {
		return start{" for LKE", "tier = " + quote(tier), `# How machines are set up. LKE Enterprise encrypts disks if it is asked to.
node_class "default" {
  disk_encryption = "enabled"
}`}
	}
	return start{" for LKE", "tier = " + quote(tier), class}
}

// instanceStart is that of a cluster that somebody runs on Linodes.
func instanceStart() start {
	return start{"", `mode = "instance"`, `# What Linodes are made from. The image, a private one by its label, has
# cloud-init, a container runtime and what joins the cluster: kubeadm or k3s.
node_class "default" {
  image_label = "kubeadm-node"

  bootstrap {
    kind = "kubeadm"
  }
}`}
}

// file is the first configuration of a cluster.
func (s start) file(cluster, region string) []byte {
	text := strings.NewReplacer("{{name}}", quote(cluster), "{{region}}", quote(region), "{{where}}", s.where,
		"{{how}}", s.how, "{{class}}", s.class)
	return hclwrite.Format([]byte(text.Replace(starterFile)))
}

func quote(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }
