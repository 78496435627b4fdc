import { type ExplainedPath, visible } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { shellWord } from '../../output/shell-word.ts'

/** `partner show --path-from`: prints the hops, or the reason why there is no path with exit code 1. */
export async function showTrustPath(
  context: CommandContext,
  options: Options,
  from: string,
  to: string,
): Promise<Result> {
  const connection = await connect(context, options)
  const path = await connection.ask((client) => client.connectome.trustPath({ from, to }))
  return { data: path, text: describe(path, context), exitCode: path.trusted ? 0 : 1 }
}

function describe(found: ExplainedPath, { style, again }: CommandContext): string {
  if (!found.trusted) return `${style.bad('No path:')} ${reasonText(found, again)}`
  const treaties = found.path.map((edge) => `  ${visible(edge.treaty_id)}  until ${visible(edge.expires_at)}`)
  const hops = `${found.hop_count} hop${found.hop_count === 1 ? '' : 's'}`
  const caution =
    found.hop_count > 1
      ? `\nTreaties are not transitive: ${visible(found.from)} accepts members of ${visible(found.to)} only with its own treaty.`
      : ''
  return `${style.good(draw(found))}\n${hops}, by the treaties:\n${treaties.join('\n')}${caution}`
}

/** Returns `A ──treaty──▶ B ──treaty──▶ C`; a treaty in the state `expiring_soon` is labelled. */
export function draw({ from, path }: Pick<ExplainedPath, 'from' | 'path'>): string {
  const hops = path.map(({ to, lifecycle_state: state }) => {
    const label = state === 'expiring_soon' ? 'expiring treaty' : 'treaty'
    return ` ──${label}──▶ ${visible(to)}`
  })
  return `${visible(from)}${hops.join('')}`
}

function reasonText({ from, to, reason, path }: ExplainedPath, again: CommandContext['again']): string {
  const pair = `${visible(from)} ──╳──▶ ${visible(to)}`
  if (from === to) return `${pair}: a network needs no treaty with itself. (${reason})`
  const [edge] = path
  if (reason === 'direct_treaty_revoked' && edge !== undefined) {
    const id = visible(edge.treaty_id)
    return `${pair}: the treaty ${id} between them was ${edge.lifecycle_state}. (${reason})\n  See: ${again(`chancery treaty show ${id}`)}`
  }
  if (reason === 'reported_treaty_path')
    return `${pair}: only treaties that partners report connect them. (${reason})\n  ${draw({ from, path })}`
  const hint = `  Issue a treaty: chancery partner add <address of ${visible(to)}>, or check:\n  ${again(`chancery treaty list --subject ${shellWord(visible(to))}`)}`
  return `${pair}: no chain of active treaties connects them. (${reason})\n${hint}`
}
