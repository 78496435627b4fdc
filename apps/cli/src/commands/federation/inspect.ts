import { visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'
import { fetchNetwork, networkData, networkRows, problemsOf, readForeignPins } from './fetch-network.ts'

/** Runs `sovereign inspect`: shows which network answers and checks its records; grants nothing. */
export async function runSovereignInspect(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const pins = await readForeignPins(context, options)
  const remote = await fetchNetwork(context, args.required('address'))
  const problems = await problemsOf(context, remote, pins)
  const isPinned = pins.rootKey !== undefined || pins.genesis !== undefined
  const { metadata } = remote
  const rows = fields(
    [
      ...networkRows(remote),
      ['endpoint', metadata.endpoint],
      ['policy', metadata.policy_manifest?.hash ?? '-'],
      ['anchors', String(metadata.bootstrap_anchor_count ?? '-')],
      ['surfaces', Object.keys(metadata.supported_surfaces).join(', ')],
    ],
    style,
  )
  const hint = isPinned
    ? 'It is the pinned network.'
    : 'Nothing proves yet that it is the one you mean: compare the root key with one you got another way (--root-key).'
  const verdict =
    problems.length === 0
      ? `${style.good('Fits together.')} ${hint}`
      : `${style.bad('Do not trust it:')} ${visible(problems.map(({ message }) => message).join('; '))}.`
  const data = {
    ...networkData(remote),
    metadata: { ...metadata },
    pinned: isPinned,
    consistent: problems.length === 0,
    problems: problems.map(({ code, message }) => ({ code, message })),
  }
  return { data, text: `${rows}\n\n${verdict}`, exitCode: problems.length === 0 ? 0 : 1 }
}
