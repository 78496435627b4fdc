import { describe, expect, it } from 'vitest'
import { COMMANDS } from './commands/index.ts'
import { ALL_ROUTES, ROUTES } from './routes/index.ts'
import {
  authHint,
  commandSurface,
  mapSurfaces,
  rateLimitText,
  routeSurface,
  surfaceAccess,
  type Surface,
} from './surfaces.ts'

const map = mapSurfaces(ALL_ROUTES, COMMANDS)

function group(name: string): readonly Surface[] {
  return map.groups.find((entry) => entry.group === name)?.surfaces ?? []
}

describe('routeSurface', () => {
  it('describes an operator route in the words of the wire', () => {
    expect(routeSurface(ROUTES.policy.publish)).toEqual({
      method: 'POST',
      target: '/admin/policy',
      title: 'Publish a policy',
      purpose: 'Signs the submitted policy and makes it the active one.',
      access: 'operator_signed',
      auth_hint: 'X-Admin headers signed with an operator key of privileged tier.',
      rate_limit: '30 per 60 s per address',
    })
  })

  it('names the tier that is needed', () => {
    expect(authHint('operator:standard')).not.toBe(authHint('operator:privileged'))
  })
})

describe('commandSurface', () => {
  it('describes a command as it is typed', () => {
    const publish = COMMANDS.find((command) => command.path.join(' ') === 'policy publish')
    expect(publish && commandSurface(publish)).toMatchObject({
      method: 'CLI',
      target: 'chancery policy publish',
      access: 'cli',
      auth_hint: 'Operator private key.',
      rate_limit: null,
    })
  })
})

describe('rateLimitText', () => {
  it.each([
    ['admin', '30 per 60 s per address'],
    ['operator_read', '300 per 60 s per operator key'],
    ['operator_decision', '600 per 60 s per operator key'],
    ['verify', '60 per 60 s per address'],
    ['evidence', '120 per 60 s per address'],
    ['join', '10 per 60 s per address'],
    ['none', null],
  ] as const)('writes %s as %s', (limit, text) => {
    expect(rateLimitText(limit)).toBe(text)
  })

  it('shows the setting in force, and nothing when the limit is off', () => {
    expect(rateLimitText('admin', () => 300)).toBe('300 per 60 s per address')
    expect(rateLimitText('public', () => 0)).toBeNull()
  })
})

describe('mapSurfaces', () => {
  it('lists the four groups in order', () => {
    expect(map.groups.map((entry) => entry.group)).toEqual(['safe', 'node_agent', 'operator', 'managed'])
  })

  it('lists every route of callers and every command once', () => {
    const targets = map.groups.flatMap((entry) => entry.surfaces.map((line) => `${line.method} ${line.target}`))
    expect(targets).toHaveLength(ALL_ROUTES.length - 1 + COMMANDS.length)
    expect(targets).not.toContain('GET /metrics')
    expect(new Set(targets).size).toBe(targets.length)
  })

  it('puts signed routes into their groups and gives each group one access word', () => {
    expect(
      group('node_agent')
        .map((line) => line.target)
        .toSorted(),
    ).toEqual([
      '/agents',
      '/agents/{node_public_key}',
      '/approvals/cancel',
      '/approvals/list',
      '/approvals/show',
      '/approvals/status',
      '/boundary/request',
      '/budgets/status',
      '/evidence/execution',
      '/heartbeat',
      '/join',
      '/present',
      '/renew',
      '/wit',
    ])
    const rule = 'operator routes, and only these, are below /admin/'
    expect(
      group('operator').every((line) => line.target.startsWith('/admin/')),
      rule,
    ).toBe(true)
    const words = map.groups.map((entry) => [...new Set(entry.surfaces.map((line) => line.access))])
    expect(words).toEqual([['browser_safe'], ['node_signed'], ['operator_signed'], ['cli']])
  })

  it('counts what it lists', () => {
    expect(map.counts).toEqual({
      http: ALL_ROUTES.length - 1,
      cli: COMMANDS.length,
      browser_safe: group('safe').length,
    })
    // Without 13 node and 1 executor routes, and /metrics, which no browser should ask.
    expect(map.counts.browser_safe).toBe(ALL_ROUTES.length - group('operator').length - 15)
    expect(surfaceAccess('internal')).toBe('internal')
  })

  it('shows the settings in force', () => {
    const raised = mapSurfaces(ALL_ROUTES, [], () => 7)
    const texts = new Set(raised.groups.flatMap((entry) => entry.surfaces.map((line) => line.rate_limit)))
    expect([...texts].toSorted()).toEqual(['7 per 60 s per address', '7 per 60 s per operator key', null])
  })
})
