package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

func newCatalog(env *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Work with the catalogue of plans, regions and prices",
	}
	cmd.AddCommand(newCatalogRefresh(env))
	return cmd
}

func newCatalogRefresh(env *env) *cobra.Command {
	url := lkeapi.Root(env.Getenv("LINODE_URL"))
	cmd := &cobra.Command{
		Use:   "refresh FILE",
		Short: "Rewrite a snapshot of the catalogue from the Linode API",
		Long: `Read plans, regions, prices and availability from the public endpoints of the
Linode API, which take no token, and write them to FILE as a snapshot: text, one
fact a line, so that a change of prices is a readable diff. FILE is replaced when
all was read.`,
		Example: "  lkeplan catalog refresh linode/catalog/snapshot.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			fresh, err := catalog.Fetch(ctx, http.DefaultClient, lkeapi.Root(url))
			if err != nil {
				return fmt.Errorf("%w; check the network, or name another API with --linode-url", err)
			}
			if err := replace(args[0], fresh); err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "%s: %d plans, %d regions, of %s\n", args[0], len(fresh.Plans()), len(fresh.Regions()), fresh.Date())
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "linode-url", url, "Linode API ($LINODE_URL)")
	return cmd
}

// replace writes the snapshot beside the file and then in its place, so that
// the file is whole at every moment.
func replace(file string, c *catalog.Catalog) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	if err := c.Write(tmp); err != nil {
		tmp.Close()
		return fmt.Errorf("write the snapshot: %w", err)
	}
	if err := tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return fmt.Errorf("write the snapshot: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	return os.Rename(tmp.Name(), file)
}
