import type { Core } from '../../core.ts'
import type { ProxyReader } from './proxy-reader.ts'

/** Lists what a request to an authority uses. */
export interface ExchangeParts extends Pick<Core, 'authorities' | 'clock' | 'metrics'> {
  readonly reader: ProxyReader
}
