import { visible } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { fields } from '../../output/table.ts'
import { meet, metData, metRows, problemsOf, readForeignPins } from './meet.ts'

/** sovereign inspect: who answers there, and whether what it says fits together; grants nothing. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const pins = await readForeignPins(context, options)
  const met = await meet(context, args.required('address'))
  const problems = await problemsOf(context, met, pins)
  const isPinned = pins.rootKey !== undefined || pins.genesis !== undefined
  const { metadata } = met
  const rows = fields(
    [
      ...metRows(met),
      ['endpoint', metadata.endpoint],
      ['policy', metadata.policy_manifest?.hash ?? '-'],
      ['anchors', String(metadata.bootstrap_anchor_count ?? '-')],
      ['surfaces', Object.keys(metadata.supported_surfaces).join(', ')],
    ],
    style,
  )
  const advice = isPinned
    ? 'It is the sovereign you named.'
    : 'Nothing proves yet that it is the one you mean: compare the root key with one you got another way (--root-key).'
  const verdict =
    problems.length === 0
      ? `${style.good('Fits together.')} ${advice}`
      : `${style.bad('Do not trust it:')} ${visible(problems.map(({ message }) => message).join('; '))}.`
  const data = {
    ...metData(met),
    metadata: { ...metadata },
    pinned: isPinned,
    consistent: problems.length === 0,
    problems: problems.map(({ code, message }) => ({ code, message })),
  }
  return { data, text: `${rows}\n\n${verdict}`, exitCode: problems.length === 0 ? 0 : 1 }
}
