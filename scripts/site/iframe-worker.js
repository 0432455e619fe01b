// Search without a server: browsers start no workers from files, so the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const appended = new Promise((done) => {
        const append = () => done(document.body.append(frame));
        document.body ? append() : addEventListener("DOMContentLoaded", append);
      });
      this.scope = appended.then(() => new Promise((done, failed) => {
        const scope = frame.contentWindow;
        scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = scope.document.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = () => done(scope);
        script.onerror = failed;
        scope.document.body.append(script);
      }));
      this.frame = frame;
    }

    postMessage(data) {
      this.scope.then((scope) => scope.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
