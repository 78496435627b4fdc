import { asJson } from '@chancery/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { describePartner } from './describe.ts'

/** Runs `partner show`. */
export async function runPartnerShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const partner = await connection.ask((client) => client.partners.find(args.required('sovereign')))
  return { data: asJson(partner), text: describePartner(partner, context.now(), context.style) }
}
