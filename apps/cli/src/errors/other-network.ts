import { ChanceryError } from '@chancery/sdk'

/** Another network answers at the address of the configured one. A kind of ChanceryError, so that the client passes it on. */
export class OtherNetworkError extends ChanceryError {
  override readonly name: string = 'OtherNetworkError'
  readonly kind = 'not_verified'
}
