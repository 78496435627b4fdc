import { HOUR, asJson, instantOf, visible } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { Partner } from '@chancery/sdk/authority'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { previewThenConfirm } from '../../prompts/preview.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { shellWord } from '../../output/shell-word.ts'
import { describeTreaty, readCapabilities } from '../recognition-treaties/treaties.ts'
import { fetchNetwork, networkData, networkRows, problemsOf, readForeignPins, refuseProblems } from './fetch-network.ts'
import type { ForeignPins, RemoteNetwork } from './fetch-network.ts'

/** `partner add --role`: checks and shows everything before it calls the own authority. */
export async function addWithTreaty(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const roles = options.list('role')
  const capabilities = readCapabilities(options) ?? []
  const hours = timeSpanOrDefault(options, 'valid-for', { unit: 'h', min: 1, max: 26_280 })
  const pins = await readForeignPins(context, options)
  const pinned = pinOf(pins, options)
  const unused = ['authority-key', 'defer', 'label', 'every', 'max-feed-age', 'name'].find((each) =>
    options.isSet(each),
  )
  if (unused !== undefined)
    throw usageError(`--${unused} cannot be combined with --role.`, 'Register it, then change it with partner set.')
  const connection = await connectAsOperator(context, options, 'partner')
  const remote = await fetchNetwork(context, args.required('address'))
  refuseProblems(remote, await problemsOf(context, remote, pins))
  refuseItself(connection, remote)
  if (pinned === 'first_use')
    context.note(
      `trusted on first use: the server at ${visible(remote.address)} is accepted as ${visible(remote.genesis.network_name)}. An attacker who controls the address or the connection would be recognised instead. Compare the fingerprint with the partner network`,
    )
  await noteCircumstances(context, connection, remote, hours)

  const subject = remote.genesis.network_name
  const review = `Would be trusted:\n${fields(
    [
      ...networkRows(remote),
      ['roles', roles.join(', ')],
      ['capabilities', capabilities.join(', ') || 'none'],
      ['for', `${hours} h`],
      ['partner', partnerText(options)],
      [
        'pinned by',
        { root_key: 'its root key', genesis: 'its genesis block', first_use: 'nothing: first use' }[pinned],
      ],
    ],
    style,
  )}`
  const data = { ...networkData(remote), pinned, allowed_roles: roles, capabilities, validity_hours: hours }
  const { only } = await previewThenConfirm(context, options, {
    preview: () => Promise.resolve({ data: { dry_run: true, ...data }, lines: [review] }),
    question: `Recognise ${visible(subject)} at ${connection.url}?`,
  })
  if (only !== undefined) return only
  const partner = await registerPartner(context, connection, remote, options)
  const treaty = await connection.ask((client) =>
    client.recognitionTreaties.issue({
      subject_sovereign_id: subject,
      subject_public_keys: [remote.genesis.network_authority.public_key],
      scope: { allowed_roles: roles, ...(capabilities.length === 0 ? {} : { claims: { capabilities } }) },
      validity_hours: hours,
      metadata: { genesis_fingerprint: remote.fingerprint, endpoint: remote.address, pinned_by: pinned },
    }),
  )
  const steps = [`chancery partner pull ${shellWord(subject)}`, `chancery treaty show ${treaty.treaty_id}`]
  const next = `${style.title('Next:')}\n${steps.map((step) => `  ${context.again(step)}`).join('\n')}`
  const text = `${style.good('Recognised')} ${visible(subject)}.\n${describeTreaty(treaty, style)}\n\n${next}`
  return { data: { ...data, treaty, partner: asJson(partner) }, text }
}

function refuseItself(connection: Connection, remote: RemoteNetwork): void {
  const own = connection.genesis?.network_name
  if (own === remote.genesis.network_name) {
    const hint = 'A network cannot recognise itself. Give the address of the partner network.'
    throw new CommandError({
      code: 'own_sovereign',
      message: `${visible(remote.address)} is ${visible(own)} itself.`,
      hint,
    })
  }
}

function partnerText(options: Options): string {
  return options.isSet('import-feeds') ? 'registered, its revocations are imported' : 'registered'
}

/** Registered before the treaty is issued: alone it recognises no member. */
async function registerPartner(
  context: CommandContext,
  connection: Connection,
  { address, genesis }: RemoteNetwork,
  options: Options,
): Promise<Partner> {
  const sovereign_id = genesis.network_name
  try {
    return await connection.ask((client) =>
      client.partners.add({
        url: address,
        sovereign_id,
        root_public_key: genesis.root_public_key,
        import_feeds: options.isSet('import-feeds') ? 'on' : 'off',
        allow_http: address.startsWith('http:'),
      }),
    )
  } catch (error) {
    if (!(error instanceof RefusedError) || error.code !== 'partner_exists') throw error
    context.note(`${visible(sovereign_id)} is a partner already, and stays as it is`)
    return connection.ask((client) => client.partners.find(sovereign_id))
  }
}

/** Requires an explicit flag for trust on first use. */
function pinOf(pins: ForeignPins, options: Options): 'genesis' | 'root_key' | 'first_use' {
  if (pins.genesis !== undefined) return 'genesis'
  if (pins.rootKey !== undefined) return 'root_key'
  if (options.isSet('trust-first-use')) return 'first_use'
  throw usageError(
    'No root key and no genesis block of the partner network is given.',
    'Get the root key or the genesis fingerprint from the other side, by another way than its address, and give --root-key or --genesis.\n' +
      '--trust-first-use accepts the server that answers now: an attacker who controls the address or the connection would be recognised.',
  )
}

/** Warnings that the operator must see before confirming. */
async function noteCircumstances(
  context: CommandContext,
  connection: Connection,
  { genesis }: RemoteNetwork,
  hours: number,
): Promise<void> {
  const end = context.now() + BigInt(hours) * HOUR
  if (end > instantOf(genesis.network_authority.valid_to))
    context.note(
      `the treaty outlives the authority key of the other side (${genesis.network_authority.valid_to}); replace it when they have a new one`,
    )
  const filter = { subject_sovereign_id: genesis.network_name, status: 'active', limit: 1 }
  const { recognition_treaties: found } = await connection.ask((client) => client.recognitionTreaties.list(filter))
  const [earlier] = found
  if (earlier !== undefined)
    context.note(
      `${visible(genesis.network_name)} has a treaty already: ${visible(earlier.treaty.treaty_id)}. To change it use chancery treaty renew`,
    )
}
