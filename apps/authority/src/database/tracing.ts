import type { StatementSync } from 'node:sqlite'
import { isTracing, traced } from '@chancery/service-kit'

/** Lists of parameters make more texts than there are statements; what is beyond is named by its first word. */
const MAX_NAMES = 2000
const names = new Map<string, string>()

/** What a statement does, to which table: `insert audit_events`. Never its text, which a query builder may have filled. */
export function statementName(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const [verb = 'statement'] = /[a-z]+/i.exec(text) ?? []
  if (names.size >= MAX_NAMES) return verb.toLowerCase()
  const table = /\b(?:from|into|update|table)\s+"?([a-z_][a-z0-9_]*)/i.exec(text)?.[1]
  const name = `${verb}${table === undefined ? '' : ` ${table}`}`.toLowerCase()
  names.set(text, name)
  return name
}

/** The statement with a span around each use of it; the statement itself without tracing. */
export function tracedStatement(statement: StatementSync, text: string): StatementSync {
  if (!isTracing) return statement
  const name = statementName(text)
  const about = { 'db.system.name': 'sqlite', 'db.query.summary': name }
  const methods = new Set<string | symbol>(['all', 'get', 'run'])
  return new Proxy(statement, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      const bound = value.bind(target) as (...args: unknown[]) => unknown
      return methods.has(key) ? (...args: unknown[]) => traced(name, about, () => bound(...args)) : bound
    },
  })
}

/** One question to PostgreSQL; named statements have a name of ours already. */
export function tracedQuery(given: unknown, send: () => Promise<unknown>): Promise<unknown> {
  const { name, text } = typeof given === 'string' ? { text: given } : (given as { name?: string; text?: string })
  const summary = name ?? statementName(text ?? '')
  return traced(summary, { 'db.system.name': 'postgresql', 'db.query.summary': summary }, send)
}
