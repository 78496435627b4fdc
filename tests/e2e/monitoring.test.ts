import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  startTestAuthority,
  startTestGateway,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  ManualClock,
} from '@chancery/testkit'
import { parse, stringify } from 'yaml'
import { beforeAll, describe, expect, it } from 'vitest'
import { metricsText } from '../../apps/cli/src/commands/watch/watch.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const run = promisify(execFile)
/** `.ci/run` installs it (Debian's package prometheus); without it the rules are only compared with the services. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
/** Named by rules, given by Prometheus itself or only by an authority with NA_HA_MODE=on. */
const ELSEWHERE = ['up', 'ALERTS', 'chancery_sync_standbys']

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

let exposed: Set<string>
let pages: { readonly authority: string; readonly gateway: string; readonly watch: string }
let rules: readonly Rule[]

beforeAll(async () => {
  pages = { authority: await authorityMetrics(), gateway: await gatewayMetrics(), watch: sampleMetrics() }
  exposed = new Set([...ELSEWHERE, ...namesIn(pages.authority), ...namesIn(pages.gateway), ...namesIn(pages.watch)])
  const file = parse(await readFile(join(DEPLOY, 'prometheus/alerts.yaml'), 'utf8')) as { groups: { rules: Rule[] }[] }
  rules = file.groups.flatMap((group) => group.rules)
})

describe('alerts and dashboards', () => {
  it('name only what the services expose', async () => {
    const unknown = rules.flatMap(({ alert, expr }) => missing(expr).map((name) => `${alert}: ${name}`))
    for (const file of await readdir(join(DEPLOY, 'grafana'))) {
      if (!file.endsWith('.json')) continue
      const board = JSON.parse(await readFile(join(DEPLOY, 'grafana', file), 'utf8')) as Board
      const exprs = board.panels.flatMap((panel) => panel.targets.map((target) => target.expr))
      expect(exprs.length, file).toBeGreaterThan(10)
      unknown.push(...exprs.flatMap((expr) => missing(expr).map((name) => `${file}: ${name}`)))
    }
    expect(unknown).toEqual([])
  })

  it('show every figure of a key succession', async () => {
    const board = await readFile(join(DEPLOY, 'grafana/authority.json'), 'utf8')
    const figures = namesIn(pages.authority).filter((name) => name.startsWith('chancery_key_succession_'))
    expect(figures.length).toBeGreaterThan(3)
    expect(figures.filter((name) => !board.includes(`${name})`))).toEqual([])
  })

  it('say no more than what happens when the disk is full', () => {
    const summary = rules.find(({ alert }) => alert === 'ChanceryDiskFull')?.annotations.summary
    // Reads go on: docs/operate/incidents.md#full-disk.
    expect(summary).toMatch(/changes are refused with 503.*served until they end/)
  })

  it('say what to do, under the name of the alert', async () => {
    const page = await readFile(join(import.meta.dirname, '../../docs/operate/monitoring.md'), 'utf8')
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook).toBe(`docs/operate/monitoring.md#${alert.toLowerCase()}`)
      expect(page, alert).toContain(`### ${alert}\n`)
    }
  })

  it('are each tested firing and quiet', async () => {
    const { tests } = parse(await readFile(join(DEPLOY, 'prometheus/alerts.test.yaml'), 'utf8')) as {
      tests: { name: string }[]
    }
    const names = new Set(tests.map(({ name }) => name))
    for (const { alert } of rules) {
      expect(names, alert).toContain(`${alert} fires`)
      expect(names, alert).toContain(`${alert} is quiet`)
    }
  })

  it.runIf(hasPromtool)(
    'fire when they should and only then, in cases of at most ten minutes',
    async () => {
      const file = parse(await readFile(join(DEPLOY, 'prometheus/alerts.test.yaml'), 'utf8')) as AlertTests
      const tests = file.tests.filter(({ promql_expr_test = [], alert_rule_test = [] }) =>
        [...promql_expr_test, ...alert_rule_test].every(({ eval_time }) => minutes(eval_time) <= 10),
      )
      expect(tests.length).toBeGreaterThan(file.tests.length / 2)
      const folder = await mkdtemp(join(tmpdir(), 'chancery-alerts-'))
      try {
        const some = { ...file, rule_files: [join(DEPLOY, 'prometheus/alerts.yaml')], tests }
        await writeFile(join(folder, 'some.test.yaml'), stringify(some))
        // Collecting garbage less often halves the processor time of promtool.
        const env = { ...process.env, GOGC: '400' }
        await run('promtool', ['test', 'rules', join(folder, 'some.test.yaml')], { env })
      } finally {
        await rm(folder, { recursive: true })
      }
    },
    240_000,
  )

  it.runIf(hasPromtool)('are read from an exposition that Prometheus accepts', () => {
    for (const text of Object.values(pages)) {
      // Exit code 3 is advice on style (a gauge ending in _total, which the protocol names so); 1 is a syntax error.
      const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
      expect([0, 3], stderr).toContain(status)
    }
  })
})

interface AlertTests {
  readonly tests: readonly Partial<
    Record<'promql_expr_test' | 'alert_rule_test', readonly { readonly eval_time: string }[]>
  >[]
}

function minutes(text: string): number {
  const [, number] = /^(\d+)m$/.exec(text) ?? []
  if (number === undefined) throw new Error(`${text} is not a number of minutes`)
  return Number(number)
}

interface Board {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}

function missing(expr: string): string[] {
  return [...expr.matchAll(/\b(?:chancery|gateway)_[a-z0-9_]+|\bup\b/g)]
    .map(([name]) => name)
    .filter((name) => !exposed.has(name))
}

/** From the TYPE lines, with the series a histogram has. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
  )
}

async function authorityMetrics(): Promise<string> {
  const na = await startTestAuthority({ settings: { EVIDENCE_STORE: 'on' } })
  try {
    return (await na.request('GET', '/metrics')).text
  } finally {
    await na.stop()
  }
}

async function gatewayMetrics(): Promise<string> {
  const clock = new ManualClock('2026-03-02T12:00:00Z')
  const issuer = await testIssuer('watched')
  const watcher = testClient('watcher', [], { metrics: true })
  const networks = { watched: testNetwork(issuer, await testList(issuer, clock.now())) }
  const gateway = await startTestGateway({ policy: testPolicy(networks, [watcher]), clock, state: 'new' })
  try {
    return (await gateway.request('GET', '/metrics', { token: watcher.token })).text
  } finally {
    await gateway.stop()
  }
}

function sampleMetrics(): string {
  const sight = { problems: [], sequence: 1, ageSeconds: 1, expiresInSeconds: 1 }
  return metricsText({ at: 0n, crl: sight, feed: sight, state: { authority: '', crl: undefined, feed: undefined } })
}
