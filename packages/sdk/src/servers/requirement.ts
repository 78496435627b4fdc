import type { AskOptions } from '../node/decider.ts'
import type { Requirement } from '../request-proof/authorizer.ts'

/** The question that a requirement asks about one request. */
export function optionsOf<Req>(
  requirement: Requirement<Req>,
  request: Req,
): { readonly capability: string; readonly options: Omit<AskOptions, 'caller' | 'attestation'> } {
  if (typeof requirement === 'string') return { capability: requirement, options: {} }
  const { capability, parameters, resource } = requirement
  return {
    capability: typeof capability === 'string' ? capability : capability(request),
    options: {
      ...(parameters === undefined ? {} : { parameters: parameters(request) }),
      ...(resource === undefined ? {} : { resource: resource(request) }),
    },
  }
}

/** The body was read to compare it with its digest. */
export function withBody(request: Request, body: Uint8Array<ArrayBuffer>): Request {
  // oxlint-disable-next-line unicorn/no-invalid-fetch-options -- the method is that of the request, which has a body
  return request.body === null ? request : new Request(request, { body })
}
