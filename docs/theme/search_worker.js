// Browsers start no worker for a page that was opened from a directory; there, a hidden frame runs the search instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const source = new URL(url, location.href).href.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
      frame.srcdoc =
        "<script>window.importScripts = () => {}; window.postMessage = (data) => parent.postMessage(data, '*')</script>" +
        `<script src="${source}"></script>`;
      this.ready = new Promise((resolve) => frame.addEventListener("load", () => resolve(frame.contentWindow)));
      addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow) return;
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      });
      document.body.append(frame);
    }
    async postMessage(data) {
      window.postMessage.call(await this.ready, data, "*"); // the frame's own goes the other way
    }
    terminate() {}
  };
}
