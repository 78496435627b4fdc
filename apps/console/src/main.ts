import { keepLive } from './live.ts'
import './styles.css'

/** Enriches the page the authority rendered; without this script every fact is there already. */
function main(): void {
  if (document.querySelector('[data-live]') !== null) keepLive(document)
}

main()
