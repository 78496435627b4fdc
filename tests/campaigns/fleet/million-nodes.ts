import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { percentile } from '../lib/loop-probe.ts'
import { type CheckParts, FleetChecks, Trickle, TURN_MS } from './checks.ts'
import { FleetGenerator, type FleetReport, type FleetTask } from './generator.ts'
import { type ResourceFigures, ResourceWatch } from './resources.ts'
import { type FleetPlan, openSite, type Site } from './site.ts'

export const summary =
  'a fleet with real keys: heartbeats, renewals, list polls, joins and revocations at one authority on PostgreSQL'
/** Nodes, without `--nodes`. */
export const defaultCount = 10_000

const DEFAULT_MINUTES = 1
const DEFAULT_PACE_SECONDS = 60
const MAX_P99_MS = 250
const MAX_OVERLOADED_SHARE = 0.001
/** Of the interval: nodes spread their heartbeats by a tenth. Later than that, the machine does not carry the fleet. */
const MAX_LATE_SHARE = 0.1
/** A shorter run measures the start of the processes. */
const JUDGED_SECONDS = 60
const MEMORY_SECONDS = 300
const MAX_GROWTH = { share: 0.1, mb: 20 }
const CHECK_MS = 5000
const PROGRESS_MS = 30_000
/** Nodes that are compared after the authority has stopped. */
const LAST_SAMPLE = 20_000
const SHOWN_VIOLATIONS = 20

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const { log, seed, mode = 'strict', pace: paceSeconds = DEFAULT_PACE_SECONDS } = options
  const nodes = options.nodes ?? options.count
  const runSeconds = (options.minutes ?? DEFAULT_MINUTES) * 60
  const plan: FleetPlan = {
    nodes,
    silent: Math.min(100, Math.floor(nodes / 20)),
    seed: String(seed),
    mode,
    paceSeconds,
    workers: options.workers ?? 1,
  }
  const site = await openSite(plan, log)
  const generator = new FleetGenerator()
  try {
    return await new FleetRun({ plan, site, generator, runSeconds, log }).measure()
  } finally {
    generator.close()
    await site.close()
  }
}

interface RunFacts {
  readonly plan: FleetPlan
  readonly site: Site
  readonly generator: FleetGenerator
  readonly runSeconds: number
  readonly log: (line: string) => void
}

class FleetRun {
  readonly #facts: RunFacts
  readonly #parts: CheckParts
  readonly #checks: FleetChecks
  readonly #violations: string[] = []

  constructor(facts: RunFacts) {
    this.#facts = facts
    const findings = { cases: 0, violate: (sentence: string) => void this.#violations.push(sentence) }
    this.#parts = { ...facts, changes: { revoked: new Set(), joined: 0 }, findings }
    this.#checks = new FleetChecks(this.#parts)
  }

  async measure(): Promise<CampaignResult> {
    const { generator, site, log } = this.#facts
    const task = this.#task()
    await generator.start(task)
    await pause(task.warmUpSeconds * 1000)
    const watch = new ResourceWatch(site.client, {
      authority: site.authority.pid,
      generators: [generator.pid, process.pid],
    })
    await watch.start()
    const trickle = new Trickle(this.#parts, this.#checks)
    trickle.start()
    await this.#checkUntil(performance.now() + (task.runSeconds - task.warmUpSeconds) * 1000)
    await trickle.stop()
    const report = await generator.ask({ kind: 'report' })
    const resources = await watch.stop()
    const last = await generator.ask({ kind: 'stop' })
    await this.#checkStopped()
    this.#violations.push(...last.violations)
    this.#judge(report, resources)
    for (const violation of this.#violations.slice(0, SHOWN_VIOLATIONS)) log(`violation: ${violation}`)
    return {
      cases: last.allAcknowledged + this.#parts.findings.cases,
      violations: this.#violations.length,
      figures: { ...this.#figures(report, resources), revoked_refused: trickle.refused + last.refusedRevoked },
    }
  }

  #task(): FleetTask {
    const { plan, site, runSeconds } = this.#facts
    const { nodes, silent, seed, paceSeconds } = plan
    return {
      seed,
      seeded: nodes,
      nodes: nodes + Math.ceil((runSeconds * 1000) / TURN_MS) + 10,
      silent,
      host: '127.0.0.1',
      port: site.authority.port,
      audience: site.network.authority.publicKey,
      genesisDigest: site.genesisDigest,
      filledAtMs: site.filledAtMs,
      paceSeconds,
      runSeconds,
      warmUpSeconds: Math.min(10, runSeconds / 5),
      // Enough for answers that take 250 ms, and fewer than the requests that the authority accepts at the same time.
      connections: Math.min(192, Math.max(8, Math.ceil((nodes / paceSeconds) * (MAX_P99_MS / 1000)))),
      readers: Math.ceil(nodes / 1000),
    }
  }

  async #checkUntil(end: number): Promise<void> {
    const { generator, site, runSeconds, log } = this.#facts
    const every = Math.min(CHECK_MS, (runSeconds * 1000) / 4)
    let shownAt = performance.now()
    for (let next = performance.now(); performance.now() < end; next += every) {
      await pause(Math.max(0, next - performance.now()))
      if (!site.authority.isRunning) throw new Error(`the authority ended: ${site.authority.log}`)
      await this.#checks.round()
      if (performance.now() - shownAt < PROGRESS_MS) continue
      shownAt = performance.now()
      const { acknowledged, seconds, answerP99Ms, waitP99Ms } = await generator.ask({ kind: 'report' })
      log(
        `${seconds.toFixed(0)} s: ${(acknowledged / seconds).toFixed(0)} heartbeats/s, p99 ${answerP99Ms.toFixed(1)} ms, ` +
          `sent ${waitP99Ms.toFixed(0)} ms late, ${this.#violations.length} violations`,
      )
    }
    await pause(Math.max(0, end - performance.now()))
  }

  /** After a clean stop nothing that was acknowledged is missing, whatever the mode. */
  async #checkStopped(): Promise<void> {
    const { generator, site } = this.#facts
    const sample = await generator.ask({ kind: 'sample', count: LAST_SAMPLE })
    const ending = await site.authority.stop()
    if (ending !== 0) this.#violations.push(`the authority ended with ${ending}: ${site.authority.log}`)
    await this.#checks.compare(sample)
  }

  #judge(report: FleetReport, { rssMbPerMinute, rssStartMb, seconds }: ResourceFigures): void {
    const { plan, runSeconds } = this.#facts
    if (runSeconds >= JUDGED_SECONDS) {
      if (!(report.answerP99Ms <= MAX_P99_MS)) this.#violations.push(`p99 of answers ${report.answerP99Ms} ms`)
      const share = report.overloaded / (report.allAcknowledged + report.overloaded)
      const late = report.waitP99Ms / 1000
      if (!(late <= plan.paceSeconds * MAX_LATE_SHARE))
        this.#violations.push(`heartbeats were sent up to ${late.toFixed(1)} s late (p99)`)
      if (share > MAX_OVERLOADED_SHARE) this.#violations.push(`${report.overloaded} answers 429 or 503`)
    }
    const growth = (rssMbPerMinute * seconds) / 60
    if (runSeconds >= MEMORY_SECONDS && growth > Math.max(MAX_GROWTH.mb, rssStartMb * MAX_GROWTH.share))
      this.#violations.push(`the memory of the authority grows by ${rssMbPerMinute.toFixed(1)} MB a minute`)
  }

  #figures(report: FleetReport, resources: ResourceFigures): Readonly<Record<string, number | string>> {
    const { plan, site } = this.#facts
    const { changes } = this.#parts
    const perSecond = (count: number): number => round(count / report.seconds, 1)
    // Both windows begin at the end of the warm-up, some milliseconds apart.
    const beats = (report.acknowledged / report.seconds) * resources.seconds
    return {
      mode: plan.mode,
      workers: plan.workers,
      nodes: plan.nodes,
      pace_s: plan.paceSeconds,
      seconds: round(report.seconds, 1),
      fill_s: round(site.fillSeconds, 1),
      database_mb: round(site.databaseMegabytes, 0),
      // The authority may ask for a longer interval than it is set to.
      nominal_per_s: round((plan.nodes - plan.silent) / plan.paceSeconds, 1),
      asked_per_s: perSecond(report.due),
      got_per_s: perSecond(report.acknowledged),
      p50_ms: round(report.answerP50Ms, 1),
      p99_ms: round(report.answerP99Ms, 1),
      sent_late_p99_ms: round(report.waitP99Ms, 1),
      authority_us_per_beat: round((resources.authoritySeconds * 1e6) / beats, 0),
      postgres_us_per_beat: round((resources.postgresSeconds * 1e6) / beats, 0),
      wal_bytes_per_beat: round(resources.walBytes / beats, 0),
      rss_start_mb: round(resources.rssStartMb, 0),
      rss_end_mb: round(resources.rssEndMb, 0),
      rss_mb_per_min: round(resources.rssMbPerMinute, 2),
      // Of other programs on the machine: they make every time above longer.
      other_cores: round(resources.otherSeconds / resources.seconds, 2),
      generator_share: round(resources.generatorSeconds / resources.seconds / availableParallelism(), 3),
      node_page_p50_ms: round(percentile(this.#checks.listMs, 0.5), 1),
      node_count_p50_ms: round(percentile(this.#checks.countMs, 0.5), 1),
      renewals: report.renewals,
      polls: report.polls,
      unchanged_polls: report.unchangedPolls,
      joined: changes.joined,
      revoked: changes.revoked.size,
      stored_late: this.#checks.storedLate,
      overloaded: report.overloaded,
      lost: report.lost,
    }
  }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
