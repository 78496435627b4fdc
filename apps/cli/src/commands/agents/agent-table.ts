import { plural } from '../../output/plural.ts'
import type { Style } from '../../output/style.ts'
import { table } from '../../output/table.ts'
import { endpointText } from './endpoint.ts'
import { type VerifiedAgent, verdictText } from './verify-agent.ts'

/** Returns one row per agent with its verdict, and a summary. */
export function agentTable(verified: readonly VerifiedAgent[], style: Style): string {
  const rows = verified.map((each) => [
    each.descriptor.agent_id,
    endpointText(each.descriptor.endpoint),
    each.descriptor.capabilities.join(','),
    each.descriptor.expires_at,
    verdictText(each),
    each.descriptor.node_public_key,
  ])
  const head = ['AGENT', 'ENDPOINT', 'CAPABILITIES', 'UNTIL', 'SIGNATURE', 'NODE KEY']
  return `${table(head, rows, style)}\n\n${summary(verified, style)}`
}

export function idsOf(verified: readonly VerifiedAgent[]): readonly string[] {
  return verified.map(({ descriptor }) => descriptor.agent_id)
}

function summary(verified: readonly VerifiedAgent[], style: Style): string {
  const [all, bad] = [verified.length, verified.filter(({ problem }) => problem !== undefined).length]
  const agents = plural(all, 'agent')
  if (bad === 0) return `${agents}; ${all === 1 ? 'its signature is' : 'all signatures are'} ${style.good('valid')}.`
  return `${agents}; ${style.bad(`${bad} must not be used`)}.`
}
