import type { ExchangeParts } from './exchange-parts.ts'
import type { SharedDocuments } from './shared-documents.ts'

/** Lists what the handlers of this feature use. */
export interface ProxyParts extends ExchangeParts {
  readonly documents: SharedDocuments
}
