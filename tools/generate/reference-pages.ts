import { ALL_AUTHORITY_SETTINGS } from '@chancery/authority'
import { GATEWAY_SETTINGS } from '@chancery/gateway'
import {
  ALL_ROUTES,
  ARTIFACTS,
  AUDIT_EVENTS,
  COMMON_AUDIT_DETAILS,
  ERRORS,
  GATEWAY_AUDIT_EVENTS,
  GATEWAY_ERRORS,
  TOKEN_ERRORS,
  GATEWAY_ROUTES,
  LIMITERS,
  ROUTES,
  WINDOW_SECONDS,
} from '@chancery/contract'
import type { Artifact, AuditEvent, Limiter, Route } from '@chancery/contract'
import { type SettingDefinitions, describeSettings } from '@chancery/service-kit'
import { code, page, section, sentenceCase, table } from './markdown.ts'

/** Pages of docs/reference. All facts come from tables that the product uses. */

export function routesPage(): string {
  const features = Object.entries<Readonly<Record<string, Route>>>({ ...ROUTES }).map(([name, routes]) =>
    section(
      sentenceCase(name),
      table(
        ['Route', 'What it does', 'Who may call', 'Limit', 'Success', 'Stability', 'Gateway operation', 'Served'],
        Object.values(routes).map((route) => [
          code(route.id),
          [route.purpose, ...otherStatuses(route)].join(' '),
          route.access,
          route.limit,
          String(route.success),
          route.stability,
          route.gateway === undefined ? '' : code(route.gateway.operation),
          'yes',
        ]),
      ),
    ),
  )
  const limits = Object.entries<Limiter>(LIMITERS).map(([name, facts]) => [
    name,
    String(facts.default),
    String(facts.windowSeconds ?? WINDOW_SECONDS),
    facts.keys.join(', '),
    facts.perRoute ? 'each route' : 'all its routes together',
    facts.store,
    code(facts.setting),
  ])
  const artifacts = Object.entries<Artifact>(ARTIFACTS).map(([id, facts]) => {
    return [code(id), facts.name, code(facts.signatureField), facts.stability]
  })
  return page(
    'Routes',
    `This release serves all ${ALL_ROUTES.length} routes of the contract.`,
    ...features,
    section(
      'Limits',
      'A counter that is not the limit of any route counts failures or keys.',
      table(['Limit', 'Calls', 'Within seconds', 'Counted per', 'Counts', 'Stored', 'Setting'], limits),
    ),
    section(
      'Trust gateway',
      'Served by the gateway, not by the authority.',
      table(
        ['Route', 'What it does', 'Credential'],
        Object.values(GATEWAY_ROUTES).map(({ method, path, purpose, credential }) => {
          return [code(`${method} ${path}`), purpose, credential]
        }),
      ),
    ),
    section('Signed records', table(['Id', 'Name', 'Signature member', 'Stability'], artifacts)),
  )
}

function otherStatuses({ statuses }: Route): string[] {
  const listed = Object.entries(statuses ?? {}).map(([name, status]) => `${code(name)} is ${status} here`)
  return listed.length === 0 ? [] : [`(${listed.join(', ')}.)`]
}

export function errorsPage(): string {
  const rows = Object.entries(ERRORS)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { status, message, stability }]) => [code(name), String(status), message, stability])
  return page(
    'Errors',
    'Programs compare the code; texts may change. A route that answers a code with another status says so in routes.md.',
    table(['Code', 'Usual status', 'Message', 'Stability'], rows),
    section(
      'Trust gateway',
      'The gateway answers flat bodies: `code` is the class, `reason` the stable specific word.',
      table(
        ['Status', 'Code', 'Reason', 'Message'],
        Object.values(GATEWAY_ERRORS).map(({ status, code: name, reason, message }) => {
          return [String(status), code(name), code(reason), message]
        }),
      ),
    ),
    section(
      'Access tokens',
      'The token endpoint of a gateway answers as OAuth says: `error` is the code, `chancery_reason` the stable specific word.',
      table(
        ['Status', 'Error', 'Reason', 'Description'],
        Object.values(TOKEN_ERRORS).map(({ status, error, reason, description }) => {
          return [String(status), code(error), code(reason), description]
        }),
      ),
    ),
  )
}

export function settingsPage(): string {
  return page(
    'Settings',
    'A flag overrides its variable. A variable of the environment overrides the same variable in the `--env-file` ([how settings are read](../operate/configure.md#how-settings-are-read)). A service does not start with misspelt names or incomplete security settings, and reports all problems at once.',
    section('Authority', settingsTable(ALL_AUTHORITY_SETTINGS)),
    section('Trust gateway', settingsTable(GATEWAY_SETTINGS)),
  )
}

function settingsTable(definitions: SettingDefinitions): string {
  const rows = describeSettings(definitions).map((row) => [
    code(row.name),
    row.flag === undefined ? '' : code(row.flag),
    row.required ? 'required' : (row.default ?? ''),
    `${row.help}${row.secret ? ' Never shown in logs.' : ''}${row.sharedName ? ' With a settings file, from the file only.' : ''}`,
  ])
  return table(['Variable', 'Flag', 'Default', 'Meaning'], rows)
}

export function auditEventsPage(): string {
  return page(
    'Audit events',
    `Each event is stored in the transaction of its change. Every event also has ${COMMON_AUDIT_DETAILS.map(code).join(', ')} where they exist.`,
    eventTable(AUDIT_EVENTS),
    section(
      'Trust gateway',
      'The gateway stores events in the hash chain of its durable state and delivers them from there.',
      eventTable(GATEWAY_AUDIT_EVENTS),
    ),
  )
}

function eventTable(events: Readonly<Record<string, AuditEvent>>): string {
  const rows = Object.entries(events).map(([type, event]) => [
    code(type),
    event.when,
    event.details.map(code).join(' '),
  ])
  return table(['Event', 'Written when', 'Details'], rows)
}
