import {
  AUDIT_EVENTS,
  type AuditEvent,
  COMMANDS,
  ERRORS,
  GATEWAY_AUDIT_EVENTS,
  GATEWAY_ERRORS,
  GATEWAY_ROUTES,
  ROUTES,
  TOKEN_ERRORS,
  type Route,
  queryNames,
} from '@chancery/contract'

/**
 * The surface of the product in one file: `packages/contract/src/surface.snapshot.json`. `npm run generate` writes it,
 * and a build with another one fails. Its difference shows a reviewer what a change opens, closes or renames.
 */

/** Facts of a route that decide who may call it, what it costs and what it answers. Texts and forms are not among them. */
const FACTS = [
  'access',
  'limit',
  'reserve',
  'dryRun',
  'success',
  'response',
  'stability',
  'repeatable',
  'idempotent',
  'stream',
  'tail',
  'emptyBody',
  'bodyLimit',
  'readLimit',
  'deadlineSeconds',
  'statuses',
  'errors',
  'records',
  'gateway',
] as const satisfies readonly (keyof Route)[]

export function surfaceSnapshot(): string {
  return toText({
    routes: routesOf({ ...ROUTES }),
    gateway_routes: Object.fromEntries(
      Object.entries(GATEWAY_ROUTES).map(([name, { method, path, credential, admission }]) => [
        `${method} ${path}`,
        { name, credential, admission },
      ]),
    ),
    events: eventsOf(AUDIT_EVENTS),
    gateway_events: eventsOf(GATEWAY_AUDIT_EVENTS),
    errors: Object.fromEntries(
      Object.entries(ERRORS).map(([code, { status, stability }]) => [code, `${status} ${stability}`]),
    ),
    gateway_errors: Object.fromEntries(Object.entries(GATEWAY_ERRORS).map(([code, { status }]) => [code, status])),
    token_errors: Object.fromEntries(Object.entries(TOKEN_ERRORS).map(([code, { status }]) => [code, status])),
    commands: Object.fromEntries(
      COMMANDS.map(({ path, needs, options }) => [
        path.join(' '),
        { needs, options: options.map(({ flags, required }) => (required === true ? `${flags} (required)` : flags)) },
      ]),
    ),
  })
}

function routesOf(features: Readonly<Record<string, Readonly<Record<string, Route>>>>): Record<string, unknown> {
  const routes = Object.entries(features).flatMap(([feature, table]) =>
    Object.entries(table).map(([name, route]) => {
      const facts = FACTS.filter((fact) => route[fact] !== undefined).map((fact) => [fact, route[fact]])
      const query = queryNames(route)
      return [
        route.id,
        { name: `${feature}.${name}`, ...Object.fromEntries(facts), ...(query.length > 0 && { query }) },
      ] as const
    }),
  )
  return Object.fromEntries(routes)
}

function eventsOf(events: Readonly<Record<string, Pick<AuditEvent, 'details'>>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(events).map(([type, { details }]) => [type, details]))
}

/** One line for each entry, so that a difference names the entry. */
function toText(parts: Readonly<Record<string, Readonly<Record<string, unknown>>>>): string {
  const sections = Object.entries(parts).map(([part, entries]) => {
    const lines = Object.entries(entries).map(
      ([name, facts]) => `    ${JSON.stringify(name)}: ${JSON.stringify(facts)}`,
    )
    return `  ${JSON.stringify(part)}: {\n${lines.join(',\n')}\n  }`
  })
  return `{\n${sections.join(',\n')}\n}\n`
}
