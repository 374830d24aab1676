package main

import (
	"context"
	"errors"
	"log"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/skills"
)

// listSkills lists the skills and loads none.
func listSkills(ctx context.Context, c *mcpclient.Client) error {
	_, err := collect(skills.List(ctx, c))
	return err
}

// useSkills loads each skill and reads all of its files. It skips skills that do not
// match their entry.
func useSkills(ctx context.Context, c *mcpclient.Client) error {
	for skill, err := range skills.List(ctx, c) {
		if err != nil {
			return err
		}
		if err := useSkill(ctx, c, skill); err != nil {
			if _, ok := errors.AsType[*skills.VerificationError](err); !ok {
				return err
			}
			log.Print(err)
		}
	}
	return nil
}

func useSkill(ctx context.Context, c *mcpclient.Client, skill *skills.Skill) error {
	loaded, err := skills.Load(ctx, c, skill)
	if err != nil {
		return err
	}
	for _, path := range loaded.Paths() {
		if _, err := loaded.ReadFile(ctx, path); err != nil {
			return err
		}
	}
	return nil
}
