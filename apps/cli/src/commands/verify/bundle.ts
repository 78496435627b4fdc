import { resolve } from 'node:path'
import { asJson, visible } from '@chancery/protocol'
import { readBundle, verifyBundle as checkBundle } from '@chancery/sdk/evidence'
import type { BundleReason } from '@chancery/sdk/evidence'
import { DecisionBundleError } from '@chancery/sdk/internal'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { loadKeyHistory, loadVerifiedGenesis } from '../../files/genesis-file.ts'
import type { Result } from '../../output/screen.ts'
import { decisionText } from '../boundary/describe.ts'

const REASONS: Readonly<Record<BundleReason, string>> = {
  payload_type: 'the payload is not an in-toto statement',
  payload_malformed: 'the statement or the decision in it cannot be read',
  key_unknown: 'the key that it names is not a key of this network. For a former key add --key-history',
  envelope_signature: 'the signature of the envelope does not hold',
  statement_mismatch: 'the statement is not the one of the decision in it',
  decision_signature:
    'no given key of the authority signed the decision at its date. For a decision from before a change of the key add --key-history',
  decision_network: 'the decision is of another network',
}

/** `verify` of a bundle, offline. */
export async function verifyBundle(context: CommandContext, text: string, options: Options): Promise<Result> {
  const { cwd, style } = context
  const block = options.text('genesis')
  if (block === undefined) {
    const data = { kind: 'decision-bundle', valid: false, reason: 'keys_needed' }
    const unknown = `${style.warn('Unknown:')} decision bundle; no key was given. Add --genesis.`
    return { data, text: unknown, exitCode: 3 }
  }
  const genesis = await loadVerifiedGenesis(resolve(cwd, block))
  const given = options.text('key-history')
  const history = given === undefined ? undefined : await loadKeyHistory(cwd, given, genesis)
  const { envelope, form } = read(text)
  const verdict = await checkBundle(envelope, { genesis, history })
  if (!verdict.valid) {
    const data = { kind: 'decision-bundle', valid: false, form, reason: verdict.reason }
    return { data, text: `${style.bad('Not valid:')} ${REASONS[verdict.reason]}.`, exitCode: 1 }
  }
  const { allowed, decision, entry, public_key, checked, unproven } = verdict
  return {
    data: asJson({
      kind: 'decision-bundle',
      valid: true,
      allowed,
      form,
      public_key,
      entry,
      checked,
      unproven,
      decision,
    }),
    ids: [decision.decision_id],
    text: [
      style.good('Valid.'),
      decisionText(decision, style),
      `  signed by the authority of ${visible(genesis.network_name)}`,
      '',
      'Not proven: that the decision is valid now, and the records that it names.',
      `Not proven: that the decision is entry ${entry.store_sequence} of the evidence store. An evidence pack proves it.`,
    ].join('\n'),
  }
}

function read(text: string): ReturnType<typeof readBundle> {
  try {
    return readBundle(text)
  } catch (error) {
    if (!(error instanceof DecisionBundleError)) throw error
    throw new CommandError(
      {
        code: 'invalid_decision_bundle',
        message: `This is not a bundle of evidence receipt: ${error.message}.`,
        hint: 'Ask for the file again, unchanged.',
      },
      { cause: error },
    )
  }
}
