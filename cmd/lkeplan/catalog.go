package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

func newCatalog(env *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Update the catalogue of Linode types, regions and prices",
	}
	cmd.AddCommand(newCatalogRefresh(env))
	return cmd
}

func newCatalogRefresh(env *env) *cobra.Command {
	url := api.Root(env.Getenv("LINODE_URL"))
	cmd := &cobra.Command{
		Use:   "refresh FILE",
		Short: "Rewrite a snapshot of the catalogue from the Linode API",
		Long: `Read types, regions, prices and availability from the public endpoints of the
Linode API, which take no token, and write them to FILE as a snapshot: text, one
fact per line, so that a change of prices is a readable diff. FILE is replaced
once everything has been read.`,
		Example: "  lkeplan catalog refresh linode/catalog/snapshot.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			fresh, err := catalog.Fetch(ctx, http.DefaultClient, api.Root(url))
			if err != nil {
				return fmt.Errorf("%w; check the network, or name another API with --linode-url", err)
			}
			var snapshot bytes.Buffer
			if err := fresh.Write(&snapshot); err != nil {
				return err
			}
			if err := files.Replace(args[0], snapshot.Bytes()); err != nil {
				return err
			}
			plans, regions := len(fresh.Plans()), len(fresh.Regions())
			fmt.Fprintf(env.Stdout, "%s: %d plans, %d regions, %s\n", args[0], plans, regions, fresh.Age())
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "linode-url", url, "`URL` of the Linode API ($LINODE_URL)")
	return cmd
}
