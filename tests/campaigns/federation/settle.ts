import { setTimeout as pause } from 'node:timers/promises'
import { accepted } from '@chancery/testkit'
import { type Counts, askAbout } from './decisions.ts'
import { isInForce, longestPauseSeconds } from './model.ts'
import type { Sovereign } from './sovereign.ts'
import type { Scenario } from './scenario.ts'

/** Work of the authority itself, in real time, once a pull is due. */
const PULLED_WITHIN_MS = 20_000
const EXTRA_SECONDS = 10

interface Due {
  readonly at: Sovereign
  readonly issuer: Sovereign
  /** The feed of the issuer when the network was whole again. */
  readonly sequence: number
  readonly waitSeconds: number
}

/**
 * The network is whole again. After one interval, which is longer after failures (5.4), every partner knows every
 * revocation made before. Returns the number of pairs.
 */
export async function settle(scenario: Scenario, counts: Counts): Promise<number> {
  for (const link of scenario.links) link.change('open', scenario.random)
  const due: Due[] = []
  for (const at of scenario.sovereigns)
    for (const [name, partner] of at.partners) {
      if (!partner.importFeeds || partner.isPaused) continue
      const issuer = scenario.named(name)
      const { sequence } = await issuer.readFeed()
      const shown = accepted(await at.operate('GET', `/admin/partners/${name}`))
      const waitSeconds = longestPauseSeconds(partner.interval, Number(shown['failures'])) + EXTRA_SECONDS
      due.push({ at, issuer, sequence, waitSeconds })
    }
  let passed = 0
  for (const one of due.toSorted((a, b) => a.waitSeconds - b.waitSeconds)) {
    if (scenario.isBroken) break
    if (one.waitSeconds > passed) await scenario.advance(one.waitSeconds - passed)
    passed = Math.max(passed, one.waitSeconds)
    await check(scenario, one, counts)
  }
  return due.length
}

async function check(scenario: Scenario, { at, issuer, sequence }: Due, counts: Counts): Promise<void> {
  const until = performance.now() + PULLED_WITHIN_MS
  for (;;) {
    await at.pullDue()
    const shown = accepted(await at.operate('GET', `/admin/partners/${issuer.name}`))
    if (shown['state'] === 'alarm')
      scenario.found.push(
        `${at.name} has an alarm about the correct ${issuer.name}: ${JSON.stringify(shown['alarms'])}`,
      )
    const { imported_sequence: imported = null } = (shown['feed'] ?? {}) as { imported_sequence?: number | null }
    if (imported !== null && imported >= sequence) break
    if (performance.now() > until) {
      const facts = JSON.stringify([shown['last_pull'], shown['next_pull_at'], shown['failures'], shown['feed']])
      scenario.found.push(`${at.name} did not see feed ${sequence} of ${issuer.name} in time: ${facts}`)
      return
    }
    // The job of the authority may hold the lease at this moment.
    await pause(50)
  }
  at.imported.set(issuer.name, Math.max(sequence, at.imported.get(issuer.name) ?? 0))
  const isRecognised = at.treaties.some((each) => each.subject === issuer.name && isInForce(each, scenario.clock.now()))
  if (!isRecognised) return
  for (const isRevoked of [true, false])
    for (const one of issuer.attestations.filter((each) => each.isRevoked === isRevoked).slice(-3))
      await askAbout(scenario, at, one, counts)
}
