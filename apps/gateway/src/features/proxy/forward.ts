import { type GatewayOperation, GatewayRefusal } from '@chancery/contract'
import { type HttpResponse, type MaybePromise, andThen } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import { type AdmittedRequest, admit } from './admit.ts'
import { NOT_SIGNED, readOperatorHeaders } from './operator-headers.ts'
import type { ProxyParts } from './parts.ts'
import { counted, send } from './send.ts'
import { isShared } from './shared-documents.ts'
import { toTarget } from './target.ts'
import { toClientResponse, upstreamRequestId } from './upstream-response.ts'

/**
 * GET, POST, DELETE /v1/networks/{network}/services/{operation}
 * Forwards one catalogued operation, with the checks in the order of protocol/gateway 12.1. The gateway connects only
 * after the last check, and sends nothing twice.
 */
export function forward(call: ClientCall, parts: ProxyParts): MaybePromise<HttpResponse> {
  const admitted = admit(call)
  const { operation } = admitted
  const target = toTarget(operation, call.query)
  const read = readOperationBody(operation, call, parts)
  // A request that announced a body may have little time left, so it is not shared.
  if (!(read instanceof Promise) && isShared(operation, target, parts)) return readShared(admitted, target, call, parts)
  return andThen(read, (body) => {
    const signed = operation.admin ? readOperatorHeaders(call.headers) : NOT_SIGNED
    if (signed.keyId !== undefined) call.context.admin_key_id = signed.keyId
    return send(admitted, { target, body, more: signed.pairs }, call, parts).then((response) => {
      call.context.upstream_status = response.status
      const theirId = upstreamRequestId(response)
      if (theirId !== undefined) call.context.upstream_request_id = theirId
      return counted(operation, parts, () =>
        // Not bound by the deadline, because the authority has executed the operation.
        toClientResponse(operation, response, theirId, (bytes, form) =>
          parts.reader.hasForm(bytes, form, { id: call.client.id, check: () => undefined }),
        ),
      )
    })
  })
}

async function readShared(
  admitted: AdmittedRequest,
  target: string,
  call: ClientCall,
  parts: ProxyParts,
): Promise<HttpResponse> {
  const { status, theirId, response } = await parts.documents.read(admitted, target, call, parts)
  call.context.upstream_status = status
  if (theirId !== undefined) call.context.upstream_request_id = theirId
  if (response instanceof GatewayRefusal) throw response
  return response
}

/** Runs check 8. The bytes are checked and stay unchanged, because a signature covers numbers as they were written. */
function readOperationBody(
  operation: GatewayOperation,
  call: ClientCall,
  { reader }: Pick<ProxyParts, 'reader'>,
): MaybePromise<Uint8Array | undefined> {
  if (operation.method === 'GET') {
    return andThen(call.readBytes(), (bytes) => {
      if (bytes.length > 0) throw new GatewayRefusal('body_not_allowed')
      return undefined
    })
  }
  const caller = { id: call.client.id, check: () => call.checkDeadline() }
  return andThen(call.readBody(), (bytes) =>
    andThen(bytes.length === 0 ? 'other' : reader.kindOfBody(bytes, caller), (kind) => {
      if (kind === 'invalid') throw new GatewayRefusal('invalid_json')
      if (kind === 'other') throw new GatewayRefusal('body_object_required')
      return bytes
    }),
  )
}
