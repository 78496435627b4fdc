import { Refusal } from '@chancery/contract'

/** HTTP that two parsers could read in two ways. Answered 400, and the connection is closed: what follows on it cannot be trusted. */
export class MalformedRequestError extends Refusal {
  constructor() {
    super('bad_request')
  }
}
