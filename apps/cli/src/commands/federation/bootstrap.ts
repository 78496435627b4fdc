import { HOUR, instantOf, visible } from '@chancery/protocol'
import { connectAsOperator } from '../../connection.ts'
import type { Connection } from '../../connection.ts'
import { requireAskable } from '../../confirm.ts'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import { foreseeThenAsk } from '../../foresee.ts'
import { wholeNumberOrDefault } from '../../numbers.ts'
import type { Arguments, Options } from '../../options.ts'
import { fields } from '../../output/table.ts'
import { describeTreaty } from '../recognition-treaties/describe.ts'
import { meet, metData, metRows, problemsOf, readForeignPins, refuseProblems } from './meet.ts'
import type { ForeignPins, Met } from './meet.ts'

/** federation bootstrap: everything is checked and shown before the own authority is asked for anything. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const roles = options.list('role')
  const hours = wholeNumberOrDefault(options, 'validity-hours', 1, 26_280)
  const pins = await readForeignPins(context, options)
  const pinned = pinOf(pins, options)
  if (!options.isSet('dry-run')) requireAskable(context, options)
  const connection = await connectAsOperator(context, options)
  const met = await meet(context, args.required('address'))
  refuseProblems(met, await problemsOf(context, met, pins))
  const own = connection.genesis?.network_name
  if (own === met.genesis.network_name) {
    const hint = 'A sovereign does not recognise itself. Give the address of the other one.'
    throw new Failure({ code: 'own_sovereign', message: `${visible(met.address)} is ${visible(own)} itself.`, hint })
  }
  if (pinned === 'first_use')
    context.note(
      `trusted on first use: whoever answers at ${visible(met.address)} now is believed to be ${visible(met.genesis.network_name)}; somebody who took over the address or the line would be recognised instead. Compare the fingerprint with the other side`,
    )
  await noteCircumstances(context, connection, met, hours)

  const subject = met.genesis.network_name
  const review = `Would be trusted:\n${fields(
    [
      ...metRows(met),
      ['roles', roles.join(', ')],
      ['for', `${hours} h`],
      [
        'pinned by',
        { root_key: 'its root key', genesis: 'its genesis block', first_use: 'nothing: first use' }[pinned],
      ],
    ],
    style,
  )}`
  const data = { ...metData(met), pinned, allowed_roles: roles, validity_hours: hours }
  const { only } = await foreseeThenAsk(context, options, {
    foresee: () => Promise.resolve({ data: { dry_run: true, ...data }, lines: [review] }),
    question: `Recognise ${visible(subject)} at ${connection.url}?`,
  })
  if (only !== undefined) return only
  const treaty = await connection.ask((client) =>
    client.recognitionTreaties.issue({
      subject_sovereign_id: subject,
      subject_public_keys: [met.genesis.network_authority.public_key],
      scope: { allowed_roles: roles },
      validity_hours: hours,
      metadata: { genesis_fingerprint: met.fingerprint, endpoint: met.address, pinned_by: pinned },
    }),
  )
  const next = `${style.title('Next:')}\n  chancery feed import ${met.address}\n  chancery treaty inspect ${treaty.treaty_id}`
  const text = `${style.good('Recognised')} ${visible(subject)}.\n${describeTreaty(treaty, style)}\n\n${next}`
  return { data: { ...data, treaty }, text }
}

/** Trust on first use is a choice somebody makes, never what happens when a flag is forgotten. */
function pinOf(pins: ForeignPins, options: Options): 'genesis' | 'root_key' | 'first_use' {
  if (pins.genesis !== undefined) return 'genesis'
  if (pins.rootKey !== undefined) return 'root_key'
  if (options.isSet('trust-first-use')) return 'first_use'
  throw misuse(
    'Nothing says which sovereign is meant: no root key and no genesis block is given.',
    'Get the root key or the genesis fingerprint from the other side, by another way than its address, and give --root-key or --genesis.\n' +
      '--trust-first-use believes whoever answers at the address now: somebody who took over the address or the line would be recognised in its place.',
  )
}

/** What does not stop it, but should be known before the answer. */
async function noteCircumstances(
  context: CommandContext,
  connection: Connection,
  { genesis }: Met,
  hours: number,
): Promise<void> {
  const end = context.now() + BigInt(hours) * HOUR
  if (end > instantOf(genesis.network_authority.valid_to))
    context.note(
      `the treaty outlives the authority key of the other side (${genesis.network_authority.valid_to}); replace it when they have a new one`,
    )
  const filter = { subject_sovereign_id: genesis.network_name, status: 'active', limit: 1 }
  const { recognition_treaties: found } = await connection.ask((client) => client.recognitionTreaties.page(filter))
  const [earlier] = found
  if (earlier !== undefined)
    context.note(
      `${visible(genesis.network_name)} has a treaty already: ${visible(earlier.treaty.treaty_id)}. To change it use chancery treaty replace`,
    )
}
