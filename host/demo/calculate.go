package demo

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"strings"
)

type expression struct {
	Expression string `json:"expression" doc:"numbers with + - * / and parentheses; % for whole numbers" example:"(2 + 3) * 4 / 7" maxlen:"256"`
}

type number struct {
	Exact string  `json:"exact" doc:"an integer, or a fraction of integers"`
	Float float64 `json:"float" doc:"the nearest floating-point number"`
}

// calculate evaluates the expression as the Go compiler evaluates constants:
// exactly, with numbers of any size, and without running anything.
func calculate(_ context.Context, in expression) (number, error) {
	tree, err := parser.ParseExpr(in.Expression)
	if err != nil {
		return number{}, fmt.Errorf("expression %q: %w", in.Expression, err)
	}
	x, err := evaluate(tree)
	if err != nil {
		return number{}, fmt.Errorf("expression %q: %w", in.Expression, err)
	}
	float, _ := constant.Float64Val(x)
	return number{x.ExactString(), float}, nil
}

func evaluate(e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return evaluate(e.X)
	case *ast.BasicLit:
		return literal(e)
	case *ast.UnaryExpr:
		x, err := evaluate(e.X)
		if err != nil {
			return nil, err
		}
		return combine(constant.MakeInt64(0), e.Op, x)
	case *ast.BinaryExpr:
		x, err := evaluate(e.X)
		if err != nil {
			return nil, err
		}
		y, err := evaluate(e.Y)
		if err != nil {
			return nil, err
		}
		return combine(x, e.Op, y)
	}
	return nil, errors.New("want numbers, operators and parentheses only")
}

// literal evaluates a number. It rejects exponents, which could make it huge.
func literal(lit *ast.BasicLit) (constant.Value, error) {
	if lit.Kind != token.INT && lit.Kind != token.FLOAT || strings.ContainsAny(lit.Value, "eEpP") {
		return nil, fmt.Errorf("%s: want a number such as 12 or 0.5", lit.Value)
	}
	return constant.MakeFromLiteral(lit.Value, lit.Kind, 0), nil
}

func combine(x constant.Value, op token.Token, y constant.Value) (constant.Value, error) {
	divides := op == token.QUO || op == token.REM
	if divides && constant.Sign(y) == 0 {
		return nil, errors.New("division by zero")
	}
	switch op {
	case token.ADD, token.SUB, token.MUL, token.QUO:
		return constant.BinaryOp(x, op, y), nil
	case token.REM:
		x, y := constant.ToInt(x), constant.ToInt(y)
		if x.Kind() == constant.Int && y.Kind() == constant.Int {
			return constant.BinaryOp(x, op, y), nil
		}
		return nil, errors.New("%: want whole numbers on both sides")
	}
	return nil, fmt.Errorf("operator %s: want one of + - * / %%", op)
}
