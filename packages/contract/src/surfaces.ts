import { type Command, PROGRAM_NAME } from './commands/command.ts'
import { limiterOf, type LimiterName, WINDOW_SECONDS } from './limits.ts'
import type { Access, Limit, Method, Route } from './route.ts'

/** Reported by the route metadata, whatever the network calls its own version. */
export const API_VERSION = 'v0.1'

/** The name in `supported_surfaces` of /sovereign.json of an authority that supports `dry_run` (protocol/core 11.6). */
export const DRY_RUN_SURFACE = 'dry_run'

/** The name there of the announced key, while one is announced (protocol/partners 4). */
export const ANNOUNCEMENT_SURFACE = 'key_succession'

export type SurfaceGroup = 'safe' | 'node_agent' | 'operator' | 'managed'

/** `internal` is in /swagger.json only: the map of surfaces is for callers (protocol/core 22.3). */
export type SurfaceAccess = 'browser_safe' | 'node_signed' | 'operator_signed' | 'cli' | 'internal'

/** One line of GET /surfaces (protocol/core 22.3); the members keep their wire names. */
export interface Surface {
  readonly method: Method | 'CLI'
  readonly target: string
  readonly title: string
  readonly purpose: string
  readonly access: SurfaceAccess
  readonly auth_hint: string
  readonly rate_limit: string | null
}

export interface SurfaceMap {
  readonly groups: readonly { readonly group: SurfaceGroup; readonly surfaces: readonly Surface[] }[]
  readonly counts: { readonly http: number; readonly cli: number; readonly browser_safe: number }
}

/** Calls per window really in force: a document that shows defaults while settings differ would mislead. */
export type PerWindow = (limiter: LimiterName) => number

interface Caller {
  readonly group: SurfaceGroup
  readonly access: SurfaceAccess
  readonly hint: string
}

const CALLERS: Readonly<Record<Access, Caller>> = {
  public: { group: 'safe', access: 'browser_safe', hint: 'No credential.' },
  'public-or-operator:standard': {
    group: 'safe',
    access: 'browser_safe',
    hint: 'No credential; signed X-Admin headers of an operator key show more.',
  },
  internal: {
    group: 'managed',
    access: 'internal',
    hint: 'No credential; the deployment keeps it on a management interface.',
  },
  node: { group: 'node_agent', access: 'node_signed', hint: 'Body signed with the node key.' },
  executor: {
    group: 'node_agent',
    access: 'node_signed',
    hint: 'Evidence signed with a registered, active executor key.',
  },
  'operator:standard': {
    group: 'operator',
    access: 'operator_signed',
    hint: 'X-Admin headers signed with an operator key of standard or privileged tier.',
  },
  'operator:privileged': {
    group: 'operator',
    access: 'operator_signed',
    hint: 'X-Admin headers signed with an operator key of privileged tier.',
  },
}

const COMMAND_HINTS: Readonly<Record<Command['needs'], string>> = {
  nothing: 'No credential.',
  operator: 'Operator private key.',
  node: 'Node private key.',
  'authority-host': 'Run on the host of the authority, with access to its key.',
}

const GROUPS: readonly SurfaceGroup[] = ['safe', 'node_agent', 'operator', 'managed']

/** The group a route is listed in. */
export function surfaceGroup(access: Access): SurfaceGroup {
  return CALLERS[access].group
}

/** The access word of a route. */
export function surfaceAccess(access: Access): SurfaceAccess {
  return CALLERS[access].access
}

/** Credentials of a caller, as text. */
export function authHint(access: Access): string {
  return CALLERS[access].hint
}

/** For example '30 per 60 s per address'; null without a limit, also when the setting turns it off. */
export function rateLimitText(limit: Limit, perWindow: PerWindow = defaultPerWindow): string | null {
  if (limit === 'none') return null
  const calls = perWindow(limit)
  const key = limiterOf(limit).keys[0] === 'operator-key' ? 'operator key' : 'address'
  return calls === 0 ? null : `${calls} per ${WINDOW_SECONDS} s per ${key}`
}

/** A route as a line of the map. */
export function routeSurface(route: Route, perWindow: PerWindow = defaultPerWindow): Surface {
  return {
    method: route.method,
    target: route.path,
    title: route.summary,
    purpose: route.purpose,
    access: surfaceAccess(route.access),
    auth_hint: authHint(route.access),
    rate_limit: rateLimitText(route.limit, perWindow),
  }
}

/** A command as a line of the map. */
export function commandSurface(command: Command): Surface {
  return {
    method: 'CLI',
    target: [PROGRAM_NAME, ...command.path].join(' '),
    title: command.summary,
    purpose: command.description,
    access: 'cli',
    auth_hint: COMMAND_HINTS[command.needs],
    rate_limit: null,
  }
}

/** The whole map: every route of callers and every command exactly once, groups in fixed order, empty ones included. */
export function mapSurfaces(
  routes: readonly Route[],
  commands: readonly Command[],
  perWindow: PerWindow = defaultPerWindow,
): SurfaceMap {
  const open = routes.filter(({ access }) => access !== 'internal')
  const lines = [
    ...open.map((route) => ({ group: surfaceGroup(route.access), surface: routeSurface(route, perWindow) })),
    ...commands.map((command) => ({ group: 'managed' as const, surface: commandSurface(command) })),
  ]
  return {
    groups: GROUPS.map((group) => ({
      group,
      surfaces: lines.filter((line) => line.group === group).map((line) => line.surface),
    })),
    counts: {
      http: open.length,
      cli: commands.length,
      browser_safe: lines.filter((line) => line.surface.access === 'browser_safe').length,
    },
  }
}

function defaultPerWindow(limiter: LimiterName): number {
  return limiterOf(limiter).default
}
