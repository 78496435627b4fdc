import { isTable } from '../overlay.ts'
import { FUNCTIONS, type Value, isTrue, toText } from './functions.ts'
import type { Expression, Node } from './parse.ts'

export type Templates = ReadonlyMap<string, readonly Node[]>

/** Writes one template, with `about` as the dot and as `$`. */
export function execute(nodes: readonly Node[], about: Value, templates: Templates): string {
  return new Execution(templates).run(nodes, { dot: about, variables: new Map([['$', about]]) })
}

interface Scope {
  readonly dot: Value
  readonly variables: Map<string, Value>
}

class Execution {
  readonly #templates: Templates

  constructor(templates: Templates) {
    this.#templates = templates
  }

  run(nodes: readonly Node[], scope: Scope): string {
    return nodes.map((node) => this.#write(node, scope)).join('')
  }

  #write(node: Node, scope: Scope): string {
    if (node.kind === 'text') return node.text
    const value = this.#value(node.value, scope)
    if (node.kind === 'output') return toText(value)
    if (node.kind === 'assign') {
      scope.variables.set(node.name, value)
      return ''
    }
    if (!isTrue(value)) return this.run(node.otherwise, within(scope, scope.dot))
    if (node.kind === 'if') return this.run(node.body, within(scope, scope.dot))
    if (node.kind === 'with') return this.run(node.body, within(scope, value))
    return entriesOf(value)
      .map(([key, item]) => {
        const inner = within(scope, item)
        const [first, second] = node.names
        if (second !== undefined) inner.variables.set(second, item)
        if (first !== undefined) inner.variables.set(first, second === undefined ? item : key)
        return this.run(node.body, inner)
      })
      .join('')
  }

  #value(expression: Expression, scope: Scope): Value {
    if (expression.kind === 'value') return expression.value
    if (expression.kind === 'path') return pathValue(expression, scope)
    if (expression.kind === 'call') return this.#call(expression, scope, [])
    const [first, ...rest] = expression.commands
    let value = first === undefined ? undefined : this.#value(first, scope)
    for (const command of rest) {
      if (command.kind !== 'call') throw new Error('a pipe leads to a value')
      value = this.#call(command, scope, [value])
    }
    return value
  }

  #call(call: Expression & { readonly kind: 'call' }, scope: Scope, piped: readonly Value[]): Value {
    const args = [...call.args.map((arg) => this.#value(arg, scope)), ...piped]
    if (call.name === 'include') {
      const nodes = this.#templates.get(String(args[0]))
      if (nodes === undefined) throw new Error(`no template ${String(args[0])}`)
      return execute(nodes, args[1], this.#templates)
    }
    const called = FUNCTIONS[call.name]
    if (called === undefined) throw new Error(`the function ${call.name} is not known`)
    return called(...args)
  }
}

/** Variables of a block end with it. */
function within({ variables }: Scope, dot: Value): Scope {
  return { dot, variables: new Map(variables) }
}

function pathValue({ variable, path }: Expression & { readonly kind: 'path' }, scope: Scope): Value {
  if (variable !== undefined && !scope.variables.has(variable)) throw new Error(`the variable ${variable} is not set`)
  const start = variable === undefined ? scope.dot : scope.variables.get(variable)
  return path.reduce<Value>((value, name) => {
    // As in Go: a missing name of a table is nothing, a name of nothing is an error.
    if (!isTable(value)) throw new Error(`.${path.join('.')}: nothing has the name ${name}`)
    return value[name]
  }, start)
}

/** Tables in the order of their names. */
function entriesOf(value: Value): readonly (readonly [string | number, Value])[] {
  if (Array.isArray(value)) return (value as readonly Value[]).map((item, at) => [at, item] as const)
  if (!isTable(value)) throw new Error('range needs a list or a table')
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}
