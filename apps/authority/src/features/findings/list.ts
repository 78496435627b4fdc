import { type JsonObject, writeInstant } from '@chancery/protocol'
import type { Finding } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { denialFindings } from './check-partners.ts'
import { checkWindow } from './check-window.ts'
import { readFirstSteps } from './first-steps.ts'
import { checkNetwork } from './network-checks.ts'
import type { FindingsParts } from './parts.ts'
import { checkSpeed, runningFindings } from './running.ts'

/** Findings of one response. A network with more has the count. */
const MAX_FINDINGS = 200

/**
 * GET /admin/findings
 * Returns what needs attention, bad before warnings, in the words of doctor. Checks of files, settings and the machine
 * are left to doctor: they need its user.
 */
export async function list(call: OperatorCall, parts: FindingsParts): Promise<JsonObject> {
  const now = parts.clock.now()
  const findings = await findAll(parts)
  const wrong = [...ofStatus(findings, 'bad'), ...ofStatus(findings, 'warn')]
  const wrongChecks = new Set(wrong.map(({ check }) => check))
  const passed = new Set(ofStatus(findings, 'good').map(({ check }) => check))
  return {
    checked_at: writeInstant(now),
    count: wrong.length,
    findings: wrong.slice(0, MAX_FINDINGS).map(view),
    passed: [...passed].filter((check) => !wrongChecks.has(check)),
    not_checked: [...new Set(ofStatus(findings, 'skipped').map(({ check }) => check))],
    first_steps: await readFirstSteps(parts),
  }
}

async function findAll(parts: FindingsParts): Promise<readonly Finding[]> {
  const { health, network, boundary, boundaryPolicies, roster } = parts
  const now = parts.clock.now()
  const [{ reasons }, readiness, { deniedForFreshness }] = await Promise.all([
    health.reports.read(),
    health.readiness.read(),
    boundary.readRecentDecisions(),
  ])
  const policies = await boundaryPolicies.active.read()
  const nodes = await roster.countNodes()
  const windowSeconds = parts.activeWindow.seconds
  const probeCedar = (): ReturnType<typeof boundaryPolicies.probeCedar> => boundaryPolicies.probeCedar()
  return [
    ...runningFindings(reasons, readiness.reasons),
    checkSpeed(health.databaseProbe.leastReadSeconds),
    checkWindow(network.genesis, now),
    ...(await checkNetwork({ ...parts, name: network.name, now, policies, nodes, windowSeconds, probeCedar })),
    ...denialFindings(deniedForFreshness),
  ]
}

function ofStatus(findings: readonly Finding[], wanted: Finding['status']): readonly Finding[] {
  return findings.filter(({ status }) => status === wanted)
}

function view({ check, status, found, fix, effect, about, at }: Finding): JsonObject {
  return { check, status, found, fix: fix ?? '', effect: effect ?? null, about: about ?? null, at: at ?? null }
}
