import { spawnSync } from 'node:child_process'
import { GATEWAY_OPERATIONS } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { runRaces } from '../campaigns/faults/races.ts'
import { runFederation } from '../campaigns/federation/federation-model.ts'
import { run as runGrowth } from '../campaigns/growth/growth-year.ts'
import { BEHAVIOURS } from '../campaigns/gateway/malicious-lists.ts'
import type { Campaign } from '../campaigns/lib/campaign.ts'
import { diskFullOnSqlite } from '../campaigns/operate/disk.ts'
import { runOperateCases } from '../campaigns/operate/operate.ts'
import { lateDatabase } from '../campaigns/operate/power-cut.ts'
import { findSodium } from '../../packages/protocol/src/signing/platform-node.ts'
import { lastLine, runCampaign, runCampaignCommand } from './campaign-run.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const canMount =
  process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

type Runnable = Pick<Campaign, 'run'>

/** Small counts, so that a change of a campaign can be tested. `check:nightly` also runs each with its default count. */
describe('campaigns with small counts', () => {
  it.each<[string, number, () => Promise<Runnable>]>([
    ['audit-forward', 2000, () => import('../campaigns/audit/forward.ts')],
    ['database-kills', 3, () => import('../campaigns/faults/database-kills.ts')],
    ['kills', 22, () => import('../campaigns/faults/kills.ts')],
    ['merkle', 6000, () => import('../campaigns/evidence/merkle.ts')],
    ['tamper', 3000, () => import('../campaigns/evidence/tamper.ts')],
    ['growth-year', 12, async () => ({ run: (options) => runGrowth({ ...options, nodes: 12, backend: 'postgres' }) })],
    ['failover', 1, () => import('../campaigns/faults/failover.ts')],
    ['federation-model', 100, async () => ({ run: (options) => runFederation(options, 'postgres') })],
    ['gateway-damage', 10, () => import('../campaigns/gateway/damage.ts')],
    ['process-kills', 8, () => import('../campaigns/faults/process-kills.ts')],
    ['gateway-proxy', GATEWAY_OPERATIONS.length * 5, () => import('../campaigns/gateway/proxy.ts')],
    ['hostile', 300, () => import('../campaigns/hostile/hostile.ts')],
    ['http-check', 600, () => import('../campaigns/gateway/http-check.ts')],
    ['races', 5, async () => ({ run: (options) => runRaces({ ...options, callers: 20 }) })],
    ['outside-reader', 2, () => import('../campaigns/faults/outside-reader.ts')],
    ['pack-histories', 40, () => import('../campaigns/evidence/pack-histories.ts')],
    ['partner-hostile', 40, () => import('../campaigns/federation/partner-hostile.ts')],
    ['partition', 3, () => import('../campaigns/faults/partition.ts')],
    ['paused-lease', 1, () => import('../campaigns/faults/paused-lease.ts')],
    ['policy-differential', 100_000, () => import('../campaigns/trust/policy-differential.ts')],
    ['sdk-outbox', 10, () => import('../campaigns/sdk/outbox.ts')],
    ['succession', 2, () => import('../campaigns/succession/succession.ts')],
    ['witness', 200, () => import('../campaigns/evidence/witness.ts')],
    // One authority on each engine.
    ['trusted-at', 400, () => import('../campaigns/history/trusted-at.ts')],
  ])(
    '%s finds no violation in %i cases',
    async (name, count, load) => {
      expect(await runCampaign(name, await load(), { count, nodes: 6 })).toEqual({ cases: count, violations: 0 })
    },
    600_000,
  )

  it.each([
    ['approvals', 200],
    ['consensus-model', 1000],
    ['discovery-model', 300],
    ['json-differential', 20_000],
    ['trust-mutation', 14_000],
  ])(
    '%s finds no violation in %i cases, as a command',
    async (name, count) => {
      const outcome = await runCampaignCommand([name, '--count', String(count)])
      const { seed, ...result } = lastLine(outcome)
      process.stdout.write(`${name} seed ${seed}\n`)
      expect({ ...result, lines: outcome.lines }).toMatchObject({ name, cases: count, violations: 0 })
      expect(outcome.lines[0]).toBe(`seed ${seed}`)
      expect(outcome.code).toBe(0)
    },
    600_000,
  )

  it('weak-keys finds no forgery that a backend accepts', async () => {
    const outcome = await runCampaignCommand(['weak-keys', '--seed', '0'])
    // 14 keys, 14 points and 64 messages under node:crypto and WebCrypto, and under libsodium where it is installed.
    const backends = findSodium() === undefined ? 2 : 3
    expect(lastLine(outcome)).toEqual({ name: 'weak-keys', cases: backends * 12_544, violations: 0, seed: 0 })
  }, 600_000)

  it('gateway-lists finds no malicious list that is accepted', async () => {
    expect(BEHAVIOURS.filter(({ outcome }) => outcome !== 'installed').length).toBeGreaterThanOrEqual(30)
    const result = await runCampaign('gateway-lists', await import('../campaigns/gateway/lists.ts'), { count: 3 })
    expect(result).toEqual({ cases: 3 * BEHAVIOURS.length, violations: 0 })
  }, 600_000)

  it('gateway-backlog delivers 2000 events in order after the collector returns', async () => {
    const result = await runCampaign('gateway-backlog', await import('../campaigns/gateway/backlog.ts'), {
      count: 2000,
    })
    expect(result.violations).toBe(0)
    expect(result.cases).toBeGreaterThanOrEqual(2000)
  }, 600_000)

  it('million-nodes finds no violation with gathered heartbeats', async () => {
    const fleet = await import('../campaigns/fleet/million-nodes.ts')
    const options = { count: 2000, minutes: 0.5, pace: 10, mode: 'gathered' } as const
    const { violations, figures } = await runCampaign('million-nodes', fleet, options)
    expect(violations).toBe(0)
    expect(figures).toMatchObject({ mode: 'gathered', nodes: 2000 })
  }, 600_000)

  it('operate finds no violation when PostgreSQL starts late after a power cut', async () => {
    const run: Runnable['run'] = (options) => runOperateCases(options, [lateDatabase(5)])
    expect(await runCampaign('operate', { run }, { count: 1 })).toEqual({ cases: 1, violations: 0 })
  }, 600_000)

  it.runIf(hasPromtool && canMount)(
    'operate finds no violation when the disk of an SQLite file is full',
    async () => {
      const run: Runnable['run'] = (options) => runOperateCases(options, [diskFullOnSqlite])
      expect(await runCampaign('operate', { run }, { count: 1 })).toEqual({ cases: 1, violations: 0 })
    },
    600_000,
  )
})
