import { Refusal } from '@chancery/contract'

/**
 * HTTP that two parsers could read differently. The response is 400 and the connection is closed, because following
 * bytes cannot be trusted.
 */
export class MalformedRequestError extends Refusal {
  constructor() {
    super('bad_request')
  }
}
