import { FormError, asJson, boundaryDecisionForm, readReceived, verifyReceived } from '@chancery/protocol'
import type { BoundaryDecision, Received } from '@chancery/protocol'
import type { EvidenceEvent } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, FOLLOW_HINT, connectAsOperator, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'
import { decisionText } from '../boundary/describe.ts'

/** Runs `evidence show`: prints a decision and everything that is stored about it, with the signature verified. */
export async function runEvidenceShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const { style } = context
  const connection = await connectAsOperator(context, options)
  const { entries } = await connection.ask((client) => client.evidence.search({ decision_id: id, limit: 1000 }))
  const event = entries.find(({ entry }) => entry.entry_kind === 'decision')
  if (event === undefined) throw unknownDecision(id)
  const received = readDecision(event)
  // A valid signature of another decision proves nothing about this one.
  if (received.record.decision_id !== id || entries.some(({ entry }) => entry.decision_id !== id))
    throw new CommandError({
      code: 'invalid_record',
      message: `${connection.url} returned records of another decision.`,
      hint: CHANGED,
    })
  const signature = await checkSignature(connection, received)
  const rows = entries.map(({ entry }) => [
    String(entry.store_sequence),
    entry.recorded_at,
    entry.entry_kind,
    entry.outcome ?? '-',
    entry.resource_id ?? '-',
  ])
  const parts = [
    decisionText(received.record, style),
    `  signature: ${signature}`,
    '',
    table(['SEQUENCE', 'RECORDED', 'KIND', 'OUTCOME', 'RESOURCE'], rows, style),
    '',
    `Prove it to an auditor: ${context.again(`chancery evidence pack ${id} --out pack.json`)}`,
  ]
  return { data: asJson({ decision_id: id, signature, entries }), ids: [id], text: parts.join('\n') }
}

/** The entry contains the decision and the context that it was made for. */
function readDecision({ payload }: EvidenceEvent): Received<BoundaryDecision> {
  try {
    return readReceived(boundaryDecisionForm, payload['decision'] ?? payload)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    const message = `The stored record is not a decision: ${error.message}.`
    throw new CommandError({ code: 'invalid_record', message, hint: CHANGED }, { cause: error })
  }
}

const CHANGED = `This is another network, or the record was changed. Do not use it. ${FOLLOW_HINT}`

async function checkSignature(connection: Connection, received: Received<BoundaryDecision>): Promise<string> {
  const keys = signersAt(connection, received.record)
  if (keys === undefined) return 'not checked: no genesis block is configured'
  if ((await verifyReceived(received, keys)).ok) return 'valid, by the authority of the configured genesis block'
  throw new CommandError({
    code: 'invalid_signature',
    message: `The decision from ${connection.url} is not signed by the authority of the configured genesis block.`,
    hint: CHANGED,
  })
}

function unknownDecision(id: string): CommandError {
  return new CommandError({
    code: 'decision_not_found',
    message: `The evidence store has no decision ${id}.`,
    hint: 'Find decisions with: chancery evidence search --kind decision. After retention, search in a saved export.',
  })
}
