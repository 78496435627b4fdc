import { globSync } from 'node:fs'
import { join } from 'node:path'
import { ALL_ROUTES, GATEWAY_ROUTES, type GatewayRoute, ROUTES, type Route, featureOf } from '@chancery/contract'

/** `npm run where -- 'POST /join'`: the file that answers a route of the authority or of the gateway. */

const ROOT = join(import.meta.dirname, '..', '..')

export interface ServedRoute {
  readonly service: 'authority' | 'gateway'
  readonly method: string
  readonly path: string
  /** Of its handler, below the root of the repository. */
  readonly file: string
}

/** Handlers whose files are not named like the route. */
const FILE_NAMES: Readonly<Record<string, string>> = { index: 'feed-index', operatorPage: 'operator' }

/** Every route of both services. */
export const SERVED_ROUTES: readonly ServedRoute[] = [
  ...ALL_ROUTES.map((route) => {
    const { method, path } = route
    return { service: 'authority' as const, method, path, file: authorityFile(route) }
  }),
  ...Object.entries<GatewayRoute>(GATEWAY_ROUTES).map(([name, { method, path }]) => {
    return { service: 'gateway' as const, method, path, file: gatewayFile(name) }
  }),
]

/**
 * Feature and member name of the route table in kebab-case. The fixed files of the console share one handler, and so do
 * the pages of the operator console. index.ts is no handler.
 */
function authorityFile(route: Route): string {
  const feature = featureOf(route)
  const member = Object.entries<Route>({ ...ROUTES[feature] }).find(([, each]) => each.id === route.id)?.[0] ?? ''
  const name = route.response === 'static' ? 'static' : (FILE_NAMES[member] ?? toKebabCase(member))
  return `apps/authority/src/features/${toKebabCase(feature)}/${name}.ts`
}

/** The member name in kebab-case, in one of the features; forwarded operations share one handler. */
function gatewayFile(member: string): string {
  const name = member.startsWith('forward') ? 'forward' : toKebabCase(member)
  const [file = `apps/gateway/src/features/${name}.ts`] = globSync(`apps/gateway/src/features/*/${name}.ts`, {
    cwd: ROOT,
  })
  return file
}

function toKebabCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** By id (`GET /agents/{node_public_key}`), by a real path (`GET /agents/abc`) or by path alone for every method. */
export function findServedRoutes(wanted: string): readonly ServedRoute[] {
  const [, method, path = ''] = /^(?:([A-Za-z]+)\s+)?(\S+)$/.exec(wanted.trim()) ?? []
  const candidates = SERVED_ROUTES.filter((route) => method === undefined || route.method === method.toUpperCase())
  const exact = candidates.filter((route) => route.path === path)
  return exact.length > 0 ? exact : candidates.filter((route) => toPattern(route.path).test(path))
}

function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '[.]').replaceAll(/\{[a-z_]+\}/g, '[^/]+')}$`)
}

function main(wanted: string): number {
  const routes = findServedRoutes(wanted)
  for (const { service, method, path, file } of routes) console.log(`${service}\t${method} ${path}\t${file}`)
  if (routes.length > 0) return 0
  console.error(`There is no route «${wanted}». All of them: docs/reference/routes.md`)
  return 1
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2).join(' '))
